"""What every workload keeps in every failure: each is simulated from the same nodes with the same pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap

from multiarch.capacity.failures import After, Before, fail_nodes, settle_before
from multiarch.capacity.limits import Explainer
from multiarch.capacity.minimums import Minimums
from multiarch.capacity.model import CapacityFailure, CapacityReport, FailureResult, GroupCount, WorkloadResult
from multiarch.capacity.notes import list_assumptions, list_warnings
from multiarch.capacity.waiting import (
    NODE_START,
    TOLERATION,
    estimate_added_node,
    estimate_eviction,
    estimate_replaced_node,
)
from multiarch.capacity.workloads import (
    ImageSupport,
    Replicas,
    WorkloadName,
    can_move,
    get_pod_key,
    get_unreachable_seconds,
    group_replicas,
)
from multiarch.manifests.disruption_budgets import DisruptionBudget, PodCount
from multiarch.scheduling.pods import Pod
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.preemption import Guard, make_guards
from multiarch.simulate.settled import NodeState
from multiarch.simulate.supply import Supply
from multiarch.stack.model import Plan

ALL = PodCount(100, percent=True)
"""All pods: the minimum of workloads without a PodDisruptionBudget, unless another one is given."""


@dataclass(slots=True)
class Evaluation:
    """What keeps running in failures, for given workloads: called with a stack and failures.

    ``pods`` are those of workloads and the templates of DaemonSets. Without ``nodes`` each group starts with its
    desired size, and all ``pods`` get a node first; ``nodes`` are those of a live cluster, with their pods, and
    ``pods`` those that are pending. ``images`` say by workload (namespace, ``Kind/name``) which architectures its
    images support; pods are kept off the others. ``without_budget`` is the minimum of workloads without a
    PodDisruptionBudget. ``zonal_volumes``: volumes of PersistentVolumeClaims can't be attached in other zones.
    """

    pods: Sequence[Pod]
    budgets: Sequence[DisruptionBudget]
    context: SimulationContext
    nodes: Sequence[NodeState] | None = None
    images: Mapping[WorkloadName, ImageSupport] = field(default_factory=dict)
    node_start: int = NODE_START
    without_budget: PodCount = ALL
    zonal_volumes: bool = True
    _guards: Sequence[Guard] = field(init=False)
    _known: list[tuple[Plan, tuple[CapacityFailure, ...], CapacityReport]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Find out how many pods each budget keeps."""
        placed = (pod for node in self.nodes or () for pod in node.pods)
        self._guards = make_guards(self.budgets, (pod for pod in (*self.pods, *placed) if can_move(pod)))

    def __call__(self, plan: Plan, failures: Iterable[CapacityFailure], *, explain: bool = True) -> CapacityReport:
        """Say of every workload what it keeps in each failure; what is known is not evaluated again.

        Without ``explain``, ``limit`` and ``change`` stay empty, which takes half of the time.
        """
        asked = plan, tuple(failures)
        if known := next((each[2] for each in self._known if explain and each[:2] == asked), None):
            return known
        before = settle_before(
            plan,
            self.pods,
            self.context,
            nodes=self.nodes,
            images=self.images,
            guards=self._guards,
            zonal_volumes=self.zonal_volumes,
        )
        workloads = group_replicas(before.pods)
        minimums = Minimums(workloads, self.budgets, without_budget=self.without_budget)
        samples = [*(each.pods[0] for each in workloads), *before.written.values()]
        supply = Supply(plan.autoscaling, plan.node_groups, self.context, samples)
        judge = _Judge(before, workloads, minimums, self.node_start, supply, explain=explain)
        without = judge.result(After(CapacityFailure(), before.settled, before.settled.nodes))
        made = CapacityReport(
            stack=plan.stack,
            autoscaler=plan.autoscaling.use,
            without_failure=without,
            failures=tuple(judge.result(fail_nodes(before, failure)) for failure in asked[1]),
            assumptions=(*minimums.assumptions(), *list_assumptions(before, workloads, self.node_start)),
            warnings=(*list_warnings(before, workloads, without, supply), *minimums.warnings()),
        )
        if explain:
            self._known.append((*asked, made))
        return made


class _Judge:
    """Puts the results together."""

    def __init__(
        self,
        before: Before,
        workloads: Sequence[Replicas],
        minimums: Minimums,
        node_start: int,
        supply: Supply,
        *,
        explain: bool,
    ) -> None:
        self._before = before
        self._workloads = {get_pod_key(each.pods[0]): each for each in workloads}
        self._minimums = minimums
        self._node_start = node_start
        self._supply = supply
        self._explainer = Explainer(before, supply) if explain else None
        self._on = {node.name: _by_workload(node) for node in before.settled.nodes}

    def result(self, after: After) -> FailureResult:
        """Return the result of one failure."""
        surviving: Counter[Hashable] = Counter()
        for node, later in zip(after.kept, after.settled.nodes, strict=False):
            # Pods of higher priority may have taken the place of some.
            stayed = later.pods[: len(node.pods)] == node.pods
            surviving.update(self._on[node.name] if stayed else self._on[node.name] & _by_workload(later))
        pending = Counter(get_pod_key(pod) for pod in after.pending)
        running = {each.key: len(each.pods) - pending[key] for key, each in self._workloads.items()}
        staying = {each.key: surviving[key] for key, each in self._workloads.items()}
        waits = self._waiting(after)
        explained = self._explainer.of(after, self._workloads) if pending and self._explainer else {}
        results = []
        for key, workload in self._workloads.items():
            explanation = explained.get(workload.key)
            moved = len(workload.pods) - surviving[key] - pending[key]
            results.append(
                WorkloadResult(
                    namespace=workload.namespace,
                    name=workload.name,
                    architectures=self._supply.architectures(workload.pods[0].spec),
                    replicas=len(workload.pods),
                    minimum=self._minimums.of(workload, staying, running),
                    surviving=surviving[key],
                    moved=moved,
                    pending=pending[key],
                    wait_seconds=waits.get(key, 0) if moved else None,
                    limit=explanation.limit if explanation else "",
                    change=explanation.change if explanation else "",
                )
            )
        return FailureResult(after.failure, tuple(results), _by_group(after.lost), _by_group(after.added))

    def _waiting(self, after: After) -> dict[Hashable, int]:
        """Return how long the last pod of each workload waits for its new node, in seconds.

        Pods that others displace wait from then on: at once for nodes that exist.
        """
        evicted: dict[Hashable, int] = {}
        in_zone = Counter(node.zone for node in after.lost)
        for node in after.lost:
            for pod in node.pods:
                stays = get_unreachable_seconds(pod.spec, TOLERATION)
                if stays is not None:
                    key, until = get_pod_key(pod), estimate_eviction(stays, in_zone[node.zone])
                    evicted[key] = max(evicted.get(key, 0), until)
        found: dict[Hashable, int] = dict(evicted)
        # The first new nodes of a node group replace lost ones.
        missing = Counter(node.group for node in after.lost)
        managed = {group.name for group in self._before.plan.node_groups}
        for node in after.added:
            replaces = node.group in managed and missing[node.group] > 0
            missing[node.group] -= 1
            for key in {get_pod_key(pod) for pod in node.pods}:
                until = evicted.get(key, 0)
                plan = self._before.plan.autoscaling
                ready = (
                    estimate_replaced_node(until, self._node_start)
                    if replaces
                    else estimate_added_node(until, plan, self._node_start)
                )
                found[key] = max(found.get(key, 0), ready)
        return found


def _by_workload(node: NodeState) -> Counter[Hashable]:
    """Return the number of pods of each workload on a node."""
    return Counter(get_pod_key(pod) for pod in node.pods if can_move(pod))


def _by_group(nodes: Iterable[NodeState]) -> tuple[GroupCount, ...]:
    return tuple(starmap(GroupCount, sorted(Counter(node.group for node in nodes).items())))
