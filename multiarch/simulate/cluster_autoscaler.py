"""The cluster autoscaler, simulated: node groups grow, one scale-up at a time, for pods without a node.

Its rules: each group below its maximum is judged by one template node; of the groups whose template some pod fits, the
priority expander keeps those of the highest priority, and least-waste chooses among them; that group grows by the nodes
that its pods need, similar groups share them; then all starts again with the remaining pods. Preferred affinity and
``PreferNoSchedule`` are ignored.

The template is in one zone: the group's first zone while it has no nodes (a lost zone too), then that of one of its
nodes, and the real autoscaler may take any of them. Here it is the newest node's; the others' zones are tried where no
group would help.
Source: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md and
``cluster-autoscaler/core/scaleup/orchestrator/orchestrator.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multiarch.autoscaling.balancing import compared
from multiarch.autoscaling.expander import choose, priorities_text
from multiarch.autoscaling.model import ClusterAutoscalerPlan
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import Resources
from multiarch.simulate.estimate import PlannedNode, estimate
from multiarch.simulate.model import EXPECTED_ZONE, Batch, Reasons, Waiting
from multiarch.simulate.nodes import Nodes, SimNode

EXPENDABLE_BELOW = -10
"""Pods of a lower priority get no new nodes (``--expendable-pods-priority-cutoff``)."""
_MEMORY_TOLERANCE = 0.015
_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class ScalableGroup:
    """A node group that may grow to ``max_size`` nodes.

    ``asg`` is a possible name of its Auto Scaling Group; ``capacity`` is what a node has before the kubelet's
    reservations. ``zones`` are those in which new nodes can be had; ``unavailable`` says why there are none, or None.
    """

    name: str
    asg: str
    shape: NodeShape
    capacity: Resources
    max_size: int
    instance_type: str
    zones: tuple[str | None, ...]
    unavailable: str | None


@dataclass(frozen=True, slots=True)
class _Option:
    """A group that helps: pods of ``batches`` fit its template node in ``zone``."""

    group: ScalableGroup
    zone: str | None
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class _Estimate:
    option: _Option
    planned: list[PlannedNode]

    def waste(self) -> float:
        """The least-waste expander's score: the unrequested shares of the nodes' CPU and memory, added up."""
        cpu = sum(pod.requests.cpu for each in self.planned for _, pod in each.pods)
        memory = sum(pod.requests.memory for each in self.planned for _, pod in each.pods)
        whole, count = self.option.group.capacity, len(self.planned)
        return 2 - cpu / max(whole.cpu * count, 1) - memory / max(whole.memory * count, 1)


def grow(
    plan: ClusterAutoscalerPlan, groups: Sequence[ScalableGroup], nodes: Nodes, waiting: Waiting, reasons: Reasons
) -> None:
    """Add nodes for ``waiting`` pods until no group helps; remove placed pods from ``waiting`` and record reasons."""
    autoscaler = _ClusterAutoscaler(plan, groups, nodes, reasons)
    everything = dict(waiting)
    served = {batch: pods for batch, pods in everything.items() if not _expendable(batch)}
    while served and autoscaler.scale_up(served):
        pass
    waiting.clear()
    for batch, pods in everything.items():
        left = served.get(batch, [])
        if _expendable(batch):
            left = autoscaler.refuse(batch, pods)
        if left:
            waiting[batch] = left


def _expendable(batch: Batch) -> bool:
    return (batch.sample.spec.priority or 0) < EXPENDABLE_BELOW


class _ClusterAutoscaler:
    def __init__(
        self, plan: ClusterAutoscalerPlan, groups: Sequence[ScalableGroup], nodes: Nodes, reasons: Reasons
    ) -> None:
        self._balance = plan.balance_similar
        self._priorities = priorities_text(plan.priorities)
        self._groups = groups
        self._nodes = nodes
        self._reasons = reasons

    def refuse(self, batch: Batch, pods: Sequence[Pod]) -> list[Pod]:
        """Give expendable pods the room that is left, and return the others."""
        priority = batch.sample.spec.priority
        for group in self._groups:
            self._reasons.refused[batch.number, group.name] = (
                f"priority {priority} is below {EXPENDABLE_BELOW}: the cluster autoscaler adds no nodes for such pods"
            )
        return self._nodes.bind_all(batch, pods)

    def scale_up(self, waiting: Waiting) -> bool:
        """Add the nodes of one scale-up and place pods on them; False where no group helps."""
        options = list(self._options(waiting, newest=True)) or list(self._options(waiting, newest=False))
        if not options:
            return False
        by_asg = {option.group.asg: option for option in options}
        kept = [by_asg[asg] for asg in choose(self._priorities, list(by_asg))]
        estimates = [self._estimate(option, options, waiting) for option in kept]
        best = min((each for each in estimates if each.planned), key=_Estimate.waste, default=None)
        if best is None:
            return False
        for other in estimates:
            if other is not best:
                self._record_waste(other, best)
        self._settle(best, self._similar(best.option, options), waiting)
        return True

    def _options(self, waiting: Waiting, *, newest: bool) -> Iterator[_Option]:
        """Yield the groups that help some pod; record for the other pods why a group does not."""
        for group in self._groups:
            full = self._nodes.count(group.name) >= group.max_size
            zones = self._zones(group)
            for zone in zones[:1] if newest else zones[1:]:
                able = []
                for batch in waiting:
                    if self._nodes.fit.why_never(batch.sample, group.shape) is not None:
                        continue
                    why = group.unavailable or (
                        f"at its maxSize {group.max_size}" if full else self._why(batch, group, zone)
                    )
                    if why is None:
                        able.append(batch)
                    elif newest:
                        self._reasons.refused[batch.number, group.name] = why
                if able:
                    yield _Option(group, zone, tuple(able))
                    break

    def _zones(self, group: ScalableGroup) -> list[str | None]:
        """The zones that the template can be in: of the group's nodes, the newest first, or else its first zone."""
        return self._nodes.zones(group.name) or list((group.shape.zones or (None,))[:1])

    def _why(self, batch: Batch, group: ScalableGroup, zone: str | None) -> str | None:
        """Why an empty node in ``zone`` does not take a pod, or None."""
        sample, shape = batch.sample, group.shape
        empty = shape.allocatable - self._nodes.overhead(shape)
        if not empty.covers(sample.requests):
            short = "; ".join(str(each) for each in empty.shortages(sample.requests)) or "max pods reached"
            return f"too large for an empty node, DaemonSets included: {short}"
        node = shape.node(f"{group.name} new", zone)
        if not sample.spec.affinity.allows(node.labels):
            there = "where it has a node" if self._nodes.count(group.name) else "its first zone"
            unmet = sample.spec.affinity.unmet_selector(node.labels) or sample.spec.affinity.unmet_terms(node.labels)
            return f"{EXPECTED_ZONE} {zone}, {there}: {unmet}"
        reason = self._nodes.why_not(batch, node)
        return None if reason is None else reason.text

    def _estimate(self, option: _Option, options: Sequence[_Option], waiting: Waiting) -> _Estimate:
        groups = [option.group, *self._similar(option, options)]
        most = sum(group.max_size - self._nodes.count(group.name) for group in groups)
        pods = {batch: waiting[batch] for batch in option.batches}
        return _Estimate(option, estimate(option.group.shape, option.zone, self._nodes, pods, most=most))

    def _similar(self, option: _Option, options: Sequence[_Option]) -> list[ScalableGroup]:
        """The groups that share new nodes with an option's: similar ones that all its pods fit."""
        if not self._balance:
            return []
        batches = set(option.batches)
        return [
            other.group
            for other in options
            if other is not option and batches <= set(other.batches) and self._alike(option.group, other.group)
        ]

    def _alike(self, first: ScalableGroup, second: ScalableGroup) -> bool:
        return (
            compared(dict(first.shape.labels)) == compared(dict(second.shape.labels))
            and _near(first.capacity, second.capacity, 0, memory=_MEMORY_TOLERANCE)
            and _near(first.shape.allocatable, second.shape.allocatable, _TOLERANCE)
            and _near(self._free(first), self._free(second), _TOLERANCE)
        )

    def _free(self, group: ScalableGroup) -> Resources:
        return group.shape.allocatable - self._nodes.overhead(group.shape)

    def _record_waste(self, other: _Estimate, best: _Estimate) -> None:
        text = f"same priority, but its nodes would waste more than those of {best.option.group.name}"
        for each in other.planned:
            for batch, _ in each.pods:
                self._reasons.outranked[batch.number, other.option.group.name] = text

    def _settle(self, best: _Estimate, similar: Sequence[ScalableGroup], waiting: Waiting) -> None:
        """Add the nodes, each in its group's next zone, and place the pods that they are for, as far as they fit."""
        made = self._make(len(best.planned), [best.option.group, *similar])
        placed: set[int] = set()
        touched: Counter[Batch] = Counter()
        for planned, node in zip(best.planned, made, strict=True):
            for batch, pod in planned.pods:
                touched[batch] += 1
                if self._takes(batch, pod, node):
                    self._nodes.put(batch, pod, node)
                    placed.add(id(pod))
        for batch in touched:
            waiting[batch] = [pod for pod in waiting[batch] if id(pod) not in placed]
        for batch in [each for each in waiting if each.depends_on_pods or touched[each] or self._asks_for_zone(each)]:
            # The nodes can be in other zones than the template, and the first pods of an affinity make room for others.
            waiting[batch] = self._nodes.bind_all(batch, waiting[batch])
        for batch in [each for each, pods in waiting.items() if not pods]:
            del waiting[batch]

    def _make(self, count: int, groups: Sequence[ScalableGroup]) -> list[SimNode]:
        """Add ``count`` nodes, each to the smallest of ``groups`` that is not full."""
        made = []
        for _ in range(count):
            open_groups = [group for group in groups if self._nodes.count(group.name) < group.max_size]
            group = min(open_groups, key=lambda each: self._nodes.count(each.name))
            zone = self._nodes.next_zone(group.name, group.zones)
            made.append(self._nodes.make(group.name, group.shape, zone, instance_type=group.instance_type))
        return made

    def _takes(self, batch: Batch, pod: Pod, node: SimNode) -> bool:
        return (
            node.free.covers(pod.requests)
            and pod.spec.affinity.allows(node.node.labels)
            and self._nodes.why_not(batch, node.node) is None
        )

    def _asks_for_zone(self, batch: Batch) -> bool:
        return any(
            len(self._nodes.fit.zones(batch.sample, group.shape)) < len(group.shape.zones) for group in self._groups
        )


def _near(first: Resources, second: Resources, tolerance: float, *, memory: float | None = None) -> bool:
    """Whether two amounts of each resource differ by at most this part of the larger one."""
    amounts = [{**dict(each.items()), "pods": each.pods} for each in (first, second)]
    if amounts[0].keys() != amounts[1].keys():
        return False
    for name, one in amounts[0].items():
        other = amounts[1][name]
        allowed = memory if memory is not None and name == "memory" else tolerance
        if abs(one - other) > max(one, other) * allowed:
            return False
    return True
