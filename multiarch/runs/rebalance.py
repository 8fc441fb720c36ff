"""Plans of moving pods to arm64 nodes, and runs that move them, for a stack and its cluster."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from multiarch.errors import MultiarchError
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ForbiddenError
from multiarch.manifests.owners import WorkloadKey
from multiarch.nodes.model import NodeGroupKind
from multiarch.observed.cluster import ClusterState, read_cluster_state
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress
from multiarch.rebalance.candidates import Choice
from multiarch.rebalance.clock import Clock
from multiarch.rebalance.lease import read_set_aside
from multiarch.rebalance.model import MovePlan, RunReport
from multiarch.rebalance.plan import make_plan
from multiarch.rebalance.run import Run, Settings
from multiarch.rebalance.snapshot import Snapshot, read_snapshot
from multiarch.runs.images import Arm64ImageJudge
from multiarch.serialization import INLINED
from multiarch.stack.model import Plan

ShowProgress = Callable[[], AbstractContextManager[Progress]]
"""Opens what shows the progress of reading images."""


@dataclass(frozen=True, slots=True)
class PlannedMoves:
    """What a run would do now. ``quiet_hours``: it would move nothing."""

    stack: str
    quiet_hours: bool
    plan: MovePlan = field(metadata=INLINED)


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a run did."""

    stack: str
    run: RunReport = field(metadata=INLINED)


class Planner:
    """Makes plans of a stack for a cluster, whose images are looked up once."""

    def __init__(
        self,
        plan: Plan,
        choice: Choice,
        cluster: KubernetesCluster,
        registries: RegistryAccess,
        *,
        progress: ShowProgress = lambda: nullcontext(ignore_progress),
        say: Callable[[str], None],
    ) -> None:
        """``say`` takes notes about what can't be read."""
        self.plan = plan
        self._cluster = cluster
        self._choice = choice
        self._say = say
        self._judge = Arm64ImageJudge(cluster, registries, self._note, progress)

    def __call__(
        self,
        snapshot: Snapshot,
        set_aside: Mapping[WorkloadKey, str],
        without: Sequence[str],
        max_pods: int,
        max_nodes: int | None = 1,
    ) -> MovePlan:
        """Return the plan for a snapshot, without the nodes ``without``."""
        plan = self.plan
        state = read_cluster_state(snapshot.running, plan.node_groups, plan.autoscaling.pool_names)
        _check_cluster(plan, state, snapshot.running.name)
        choice = replace(self._choice, set_aside=set_aside)
        return make_plan(
            snapshot, plan, state, choice, self._judge, max_pods=max_pods, without=without, max_nodes=max_nodes
        )

    def _note(self, text: str) -> None:
        self._say(f"note: {text}")

    def plan_moves(self, settings: Settings) -> PlannedMoves:
        """Return what a run would do now. Raises MultiarchError and OutsideError."""
        now = Clock().now()
        try:
            aside = read_set_aside(self._cluster, now)
        except ForbiddenError as error:
            self._note(str(error))
            aside = {}
        found = self(read_snapshot(self._cluster), aside, (), settings.max_pods, None)
        return PlannedMoves(self.plan.stack, settings.quiet(now), found)

    def move_pods(self, settings: Settings, clock: Clock) -> FinishedRun:
        """Move pods, and say what is done. Raises MultiarchError and OutsideError."""
        return FinishedRun(self.plan.stack, Run(self._cluster, clock, settings, self, self._say).execute())


def make_run_name() -> str:
    """Return a name that no other run has, and that says where this one is."""
    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


def _check_cluster(plan: Plan, state: ClusterState, context: str) -> None:
    """Raise MultiarchError for a cluster none of whose nodes is of the stack."""
    unlabelled = any(group.kind is not NodeGroupKind.MANAGED for group in plan.node_groups)
    if state.nodes and not unlabelled and not any(node.group for node in state.nodes):
        raise MultiarchError(
            f"None of the {len(state.nodes)} nodes of context {context} is of a group or NodePool of {plan.stack}.",
            hint="Choose the stack's cluster with --context.",
        )
