"""The cluster autoscaler, simulated: node groups grow, one at a time, for pods without a node.

Its rules: for each group below its maximum, pack the pending pods onto new nodes of it, largest first; of the groups
that help any pod, the priority expander keeps those of the highest priority, and least-waste chooses among them; grow
that group, and start again with the remaining pods. Preferred affinity and ``PreferNoSchedule`` are ignored.
Source: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from multiarch.autoscaling.expander import choose, priorities_text
from multiarch.autoscaling.model import ClusterAutoscalerPlan
from multiarch.scheduling.nodes import Node, NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause
from multiarch.scheduling.resources import Resources
from multiarch.scheduling.topology import Placements
from multiarch.simulate.model import Batch, Reasons, Waiting
from multiarch.simulate.nodes import Nodes


@dataclass(frozen=True, slots=True)
class ScalableGroup:
    """A node group that may grow to ``max_size`` nodes. ``asg`` is a possible name of its Auto Scaling Group."""

    name: str
    asg: str
    shape: NodeShape
    max_size: int


@dataclass(slots=True)
class _NewNode:
    node: Node
    zone: str | None
    free: Resources
    pods: list[tuple[Batch, Pod]] = field(default_factory=list)


@dataclass(slots=True)
class _Estimate:
    """New nodes of one group, as the autoscaler estimates them."""

    group: ScalableGroup
    new_nodes: list[_NewNode]

    def waste(self) -> float:
        """The least-waste expander's score: the unrequested shares of CPU and memory, added up."""
        cpu = sum(pod.requests.cpu for each in self.new_nodes for _, pod in each.pods)
        memory = sum(pod.requests.memory for each in self.new_nodes for _, pod in each.pods)
        whole = self.group.shape.allocatable
        count = len(self.new_nodes)
        return 2 - cpu / max(whole.cpu * count, 1) - memory / max(whole.memory * count, 1)


def grow(
    plan: ClusterAutoscalerPlan, groups: Sequence[ScalableGroup], nodes: Nodes, waiting: Waiting, reasons: Reasons
) -> None:
    """Add nodes for ``waiting`` pods until no group helps; remove placed pods from ``waiting`` and record reasons."""
    text = priorities_text(plan.priorities)
    by_asg = {group.asg: group for group in groups}
    while waiting:
        able = [group.asg for group in groups if _helps(group, nodes, waiting, reasons)]
        if not able:
            return
        estimates = [_pack(by_asg[asg], nodes, waiting) for asg in choose(text, able)]
        best = min((each for each in estimates if each.new_nodes), key=_Estimate.waste, default=None)
        if best is None:
            return
        for other in estimates:
            if other is not best:
                _record_waste(other, best, reasons)
        _settle(best, nodes, waiting)


def _helps(group: ScalableGroup, nodes: Nodes, waiting: Waiting, reasons: Reasons) -> bool:
    """Whether a new node of the group would take any pod; records the reason for each batch that it would not take."""
    full = nodes.count(group.name) >= group.max_size
    estimator = _Estimator(group, nodes, None)
    any_pod = False
    for batch in waiting:
        key = (batch.number, group.name)
        if nodes.fit.why_never(batch.sample, group.shape) is not None:
            continue
        if full:
            reasons[key] = f"{group.name} is at its maxSize {group.max_size}"
        elif (why := estimator.why_not_new(batch, nodes)) is not None:
            reasons[key] = why
        else:
            any_pod = True
    return any_pod


def _pack(group: ScalableGroup, nodes: Nodes, waiting: Waiting) -> _Estimate:
    """Estimate the new nodes: largest pods first, each on the first new node with room."""
    whole = group.shape.allocatable
    placements = _copy(nodes, waiting) if nodes.pod_rules else None
    estimate = _Estimate(group, [])

    def size(batch: Batch) -> float:
        wanted = batch.sample.requests
        return wanted.cpu / max(whole.cpu, 1) + wanted.memory / max(whole.memory, 1)

    fitting = [batch for batch in waiting if nodes.fit.why_never(batch.sample, group.shape) is None]
    estimator = _Estimator(group, nodes, placements)
    for batch in sorted(fitting, key=lambda each: (-size(each), each.number)):
        estimator.fill(estimate.new_nodes, batch, waiting[batch])
    return estimate


class _Estimator:
    """Fills new nodes of one group, and adds more up to its maximum."""

    def __init__(self, group: ScalableGroup, nodes: Nodes, placements: Placements | None) -> None:
        self._group = group
        self._placements = placements
        self._there = nodes.count(group.name)
        self._empty = group.shape.allocatable - nodes.overhead(group.shape)
        zones = group.shape.zones or (None,)
        self._zones: dict[str | None, int] = {zone: nodes.in_zone(group.name, zone) for zone in zones}

    def fill(self, new_nodes: list[_NewNode], batch: Batch, pods: Sequence[Pod]) -> None:
        """Place as many of ``pods`` as fit."""
        able = [each for each in new_nodes if batch.sample.spec.affinity.allows(each.node.labels)]
        for pod in pods:
            taken = self._first(able, batch, pod) or self._another(new_nodes, able, batch, pod)
            if taken is None:
                return
            taken.free -= pod.requests
            taken.pods.append((batch, pod))
            if self._placements is not None and batch.counted:
                self._placements.place(pod, taken.node)

    def _first(self, able: list[_NewNode], batch: Batch, pod: Pod) -> _NewNode | None:
        while able and not able[0].free.covers(pod.requests):
            del able[0]
        for each in able:
            if each.free.covers(pod.requests) and self._why_not(batch, each.node) is None:
                return each
        return None

    def _another(self, new_nodes: list[_NewNode], able: list[_NewNode], batch: Batch, pod: Pod) -> _NewNode | None:
        if self._there + len(new_nodes) >= self._group.max_size or not self._empty.covers(pod.requests):
            return None
        allows = batch.sample.spec.affinity.allows
        good = (
            _NewNode(node, zone, self._empty)
            for zone, node in self._candidates(len(new_nodes))
            if allows(node.labels) and self._why_not(batch, node) is None
        )
        made = next(good, None)
        if made is None:
            return None
        self._zones[made.zone] += 1
        new_nodes.append(made)
        able.append(made)
        if self._placements is not None:
            self._placements.add(made.node)
        return made

    def _candidates(self, more: int) -> Iterator[tuple[str | None, Node]]:
        """The next node, in each of the zones with the fewest nodes: an Auto Scaling Group keeps its zones balanced."""
        fewest = min(self._zones.values())
        for zone in [each for each, count in self._zones.items() if count == fewest]:
            yield zone, self._group.shape.node(f"{self._group.name}-{self._there + more + 1}", zone)

    def why_not_new(self, batch: Batch, nodes: Nodes) -> str | None:
        """Why the next new node of the group, while empty, does not take a pod, or None."""
        sample = batch.sample
        if not self._empty.covers(sample.requests):
            short = "; ".join(str(each) for each in self._empty.shortages(sample.requests)) or "max pods reached"
            return f"too large for an empty node of {self._group.name}, DaemonSets included: {short}"
        text = ""
        for _, node in self._candidates(0):
            if not sample.spec.affinity.allows(node.labels):
                text = text or f"the next node of {self._group.name} starts in another zone, to keep zones balanced"
                continue
            reason = nodes.why_not(batch, node)
            if reason is None:
                return None
            text = reason.text
        return text

    def _why_not(self, batch: Batch, node: Node) -> Cause | None:
        reason = None if self._placements is None else self._placements.why_not(batch.sample, node)
        return None if reason is None else reason.cause


def _copy(nodes: Nodes, waiting: Waiting) -> Placements | None:
    """Copy the placements, so that an estimate can be dropped; None where no waiting pod depends on other pods."""
    if not any(batch.depends_on_pods for batch in waiting) and not nodes.pod_anti_affinity:
        return None
    placements = Placements()
    nodes.replay(placements)
    return placements


def _record_waste(other: _Estimate, best: _Estimate, reasons: Reasons) -> None:
    text = f"same priority, but its nodes would waste more than those of {best.group.name}"
    for each in other.new_nodes:
        for batch, _ in each.pods:
            reasons[batch.number, other.group.name] = text


def _settle(estimate: _Estimate, nodes: Nodes, waiting: Waiting) -> None:
    """Add the nodes, and place the pods on them."""
    placed: Counter[Batch] = Counter()
    for each in estimate.new_nodes:
        made = nodes.make(estimate.group.name, estimate.group.shape, new=True, zone=each.zone)
        for batch, pod in each.pods:
            nodes.put(batch, pod, made)
            placed[batch] += 1
    for batch, count in placed.items():
        # Pods of one batch are placed in their order.
        waiting[batch] = waiting[batch][count:]
    for batch in [each for each in waiting if each.depends_on_pods]:
        # The first pods of an affinity may have made room for others on existing nodes.
        waiting[batch] = [pod for pod in waiting[batch] if nodes.bind(batch, pod) is None]
    for batch in [each for each, pods in waiting.items() if not pods]:
        del waiting[batch]
