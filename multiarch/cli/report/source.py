"""The workloads and nodes of the page: of the stack file alone, of manifests, or of a live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.audit.uses import uses_in
from multiarch.capacity.sources import workloads_in
from multiarch.cli import reading
from multiarch.cli.capacity.source import of_no_group
from multiarch.kubernetes.cluster import Cluster, open_cluster
from multiarch.kubernetes.errors import ForbiddenError
from multiarch.kubernetes.manifests import read_manifests
from multiarch.kubernetes.resources import WORKLOADS, Kind
from multiarch.kubernetes.running import read_running
from multiarch.simulate.context import simulation_context
from multiarch.simulate.running import cluster_state
from multiarch.simulate.simulation import SimulationContext
from multiarch.stack.model import Plan

if TYPE_CHECKING:
    from multiarch.kubernetes.access import ClusterAccess
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.prices.model import RegionPrices
    from multiarch.registry.credentials.model import Credentials
    from multiarch.scheduling.pods import Pod
    from multiarch.simulate.settled import NodeState


@dataclass(frozen=True, slots=True)
class LiveNodes:
    """The nodes of a cluster: as objects, and with the pods on them. ``notes`` say what is left out."""

    objects: tuple[LoadedObject, ...]
    states: tuple[NodeState, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What the parts are made of.

    ``objects`` are workloads, pods and budgets; ``pods`` are those without a node and the templates of DaemonSets.
    ``live`` are the nodes of a cluster, None for those of the plan; ``credentials`` the cluster's for the images.
    ``unread`` says why there are no workloads, ``without_budgets`` why PodDisruptionBudgets are missing.
    """

    description: str
    context: SimulationContext
    objects: tuple[LoadedObject, ...] = ()
    pods: tuple[Pod, ...] = ()
    live: LiveNodes | None = None
    credentials: Credentials | None = None
    unread: str = ""
    without_budgets: str = ""

    def of_kind(self, kind: Kind) -> tuple[LoadedObject, ...]:
        """The objects of a kind."""
        return tuple(each for each in self.objects if each.value.get("kind") == kind)


def from_plan(plan: Plan, prices: RegionPrices | None, why: str, description: str = "Stack file") -> Source:
    """The plan alone; ``why`` says why there are no workloads."""
    return Source(description, simulation_context(plan, prices=prices), unread=why)


def from_manifests(plan: Plan, prices: RegionPrices | None, files: Sequence[str]) -> Source:
    """Workloads of manifests, on the nodes of the plan. Raises MultiarchError, naming file, document and line."""
    found = tuple(read_manifests(files))
    names = ", ".join("standard input" if name == "-" else name for name in files)
    pods = workloads_in(found, files).pods
    return Source(f"Stack file, and workloads of {names}", simulation_context(plan, prices=prices), found, pods)


def from_cluster(plan: Plan, prices: RegionPrices | None, access: ClusterAccess) -> Source:
    """Nodes, workloads, pods and budgets of a cluster. Raises MultiarchError and OutsideError.

    Budgets may be missing, with the reason: the other parts do without them.
    """
    karpenter = plan.autoscaling.karpenter
    pools = [pool.name for pool in karpenter.pools] if karpenter else []
    with open_cluster(access) as cluster:
        running = read_running(cluster)
        budgets, without_budgets = _budgets(cluster)
        workloads = tuple(cluster.objects([kind for kind in WORKLOADS if kind is not Kind.DAEMON_SET]))
        objects = (*workloads, *running.daemon_sets, *running.pods, *budgets)
        credentials = reading.pull_secrets(cluster, uses_in(objects))
    state = cluster_state(running, plan.node_groups, pools)
    return Source(
        f"Cluster of context {running.name}",
        simulation_context(plan, seen=state.zones, prices=prices),
        objects,
        (*state.pending, *state.daemon_sets),
        LiveNodes(running.nodes, state.nodes, (*of_no_group(state.unknown), *state.notes)),
        credentials,
        without_budgets=without_budgets,
    )


def _budgets(cluster: Cluster) -> tuple[tuple[LoadedObject, ...], str]:
    """The PodDisruptionBudgets, and why they can't be read."""
    try:
        return tuple(cluster.objects([Kind.POD_DISRUPTION_BUDGET])), ""
    except ForbiddenError as error:
        return (), str(error)
