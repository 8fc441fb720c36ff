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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from multiarch.autoscaling.balancing import select_compared_labels
from multiarch.autoscaling.model import ClusterAutoscalerPlan
from multiarch.scheduling.fit import explain_never, list_allowed_zones
from multiarch.scheduling.nodes import Node, NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.estimate import PlannedNode, estimate_nodes
from multiarch.simulate.model import EXPECTED_ZONE, Batch, Reasons, Waiting
from multiarch.simulate.nodes import Nodes, SimNode

_Estimated = tuple[ResourceAmounts, ResourceAmounts, tuple[str | None, ...], int, frozenset[tuple[Batch, int]]]
"""What an estimate depends on besides the pods that have a node; groups of one size often agree in all of it.

A node's allocatable resources without and with DaemonSets, its domain, the most nodes, the number of pods by batch.
"""
EXPENDABLE_BELOW = -10
"""Pods of a lower priority get no new nodes (``--expendable-pods-priority-cutoff``)."""
_MEMORY_TOLERANCE = 0.015
_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class ScalableGroup:
    """A node group that may grow to ``max_size`` nodes.

    ``capacity`` is what a node has before the kubelet's reservations. ``zones`` are those in which new nodes can be
    had; ``unavailable`` says why there are none, or None.
    """

    name: str
    shape: NodeShape
    capacity: ResourceAmounts
    max_size: int
    instance_type: str
    zones: tuple[str | None, ...]
    unavailable: str | None


@dataclass(frozen=True, slots=True)
class _Option:
    """A group that helps: pods of ``batches`` fit its template node in ``zone``."""

    group: ScalableGroup
    zone: str | None
    batches: frozenset[Batch]


@dataclass(frozen=True, slots=True)
class _Template:
    """A new node of a group in one zone, and its ``domain``, see :meth:`Nodes.domain`.

    ``why`` has each batch that some node of the group takes. Its value says why an empty node in this zone does not
    take it, other pods aside, or is None.
    """

    node: Node
    domain: tuple[str | None, ...]
    why: Mapping[Batch, str | None]


@dataclass(frozen=True, slots=True)
class _Estimate:
    """The nodes that an option adds, and the pods of each batch that get one."""

    option: _Option
    planned: list[PlannedNode]
    pods: Mapping[Batch, int]

    def waste(self) -> float:
        """Return the least-waste expander's score: the unrequested shares of the nodes' CPU and memory, added up."""
        cpu = sum(batch.sample.requests.cpu * count for batch, count in self.pods.items())
        memory = sum(batch.sample.requests.memory * count for batch, count in self.pods.items())
        whole, count = self.option.group.capacity, len(self.planned)
        return 2 - cpu / max(whole.cpu * count, 1) - memory / max(whole.memory * count, 1)


def add_nodes(
    plan: ClusterAutoscalerPlan, groups: Sequence[ScalableGroup], nodes: Nodes, waiting: Waiting, reasons: Reasons
) -> None:
    """Add nodes for ``waiting`` pods until no group helps; remove placed pods from ``waiting`` and record reasons."""
    everything = dict(waiting)
    served = {batch: pods for batch, pods in everything.items() if not _expendable(batch)}
    autoscaler = _ClusterAutoscaler(plan, groups, nodes, reasons, tuple(served))
    while served and autoscaler.scale_up(served):
        pass
    waiting.clear()
    for batch, pods in everything.items():
        left = served.get(batch, [])
        if _expendable(batch):
            left = autoscaler.reject(batch, pods)
        if left:
            waiting[batch] = left


def _expendable(batch: Batch) -> bool:
    return (batch.sample.spec.priority or 0) < EXPENDABLE_BELOW


class _ClusterAutoscaler:
    """What does not change from one scale-up to the next is computed once: templates, similar groups, priorities."""

    def __init__(
        self,
        plan: ClusterAutoscalerPlan,
        groups: Sequence[ScalableGroup],
        nodes: Nodes,
        reasons: Reasons,
        batches: Sequence[Batch],
    ) -> None:
        """``batches`` are all that ever wait."""
        self._plan = plan
        self._priorities = {row.group: row.priority for row in plan.priorities}
        self._groups = groups
        self._nodes = nodes
        self._reasons = reasons
        self._batches = batches
        self._templates: dict[tuple[str, str | None, bool], _Template] = {}
        self._alike_groups: dict[str, list[ScalableGroup]] = {}
        self._zonal: dict[Batch, bool] = {}
        self._by_domain: dict[tuple[int, tuple[str | None, ...]], str | None] = {}
        self._planned: dict[_Estimated, tuple[list[PlannedNode], dict[Batch, int]]] = {}
        self._planned_before: dict[_Estimated, tuple[list[PlannedNode], dict[Batch, int]]] = {}

    def reject(self, batch: Batch, pods: Sequence[Pod]) -> list[Pod]:
        """Give expendable pods the room that is left, and return the others."""
        priority = batch.sample.spec.priority
        for group in self._groups:
            self._reasons.rejected[batch.number, group.name] = (
                f"priority {priority} is below {EXPENDABLE_BELOW}: the cluster autoscaler adds no nodes for such pods"
            )
        return self._nodes.bind_all(batch, pods)

    def scale_up(self, waiting: Waiting) -> bool:
        """Add the nodes of one scale-up and place pods on them; False where no group helps."""
        self._by_domain.clear()
        self._planned, self._planned_before = {}, self._planned
        options = self._options(waiting, newest=True) or self._options(waiting, newest=False)
        if not options:
            return False
        estimates = [
            self._estimate(options[name], options, waiting) for name in select_highest_groups(self._priorities, options)
        ]
        best = min((each for each in estimates if each.planned), key=_Estimate.waste, default=None)
        if best is None:
            return False
        for other in estimates:
            if other is not best:
                self._record_waste(other, best)
        self._settle(best, self._similar(best.option, options), waiting)
        return True

    def _options(self, waiting: Waiting, *, newest: bool) -> dict[str, _Option]:
        """Return the groups that help some pod, by name; record for the other pods why a group does not."""
        found = {}
        for group in self._groups:
            out = group.unavailable
            if out is None and self._nodes.count(group.name) >= group.max_size:
                out = f"at its maxSize {group.max_size}"
            # Of the group's nodes, the newest first, or else its first zone.
            zones = self._nodes.zones(group.name) or (group.shape.zones or (None,))[:1]
            for zone in zones[:1] if newest else zones[1:]:
                template = self._template(group, zone)
                able = []
                for batch in waiting:
                    if batch not in template.why:
                        continue
                    why = out or template.why[batch] or self._why_not(batch, template)
                    if why is None:
                        able.append(batch)
                    elif newest:
                        self._reasons.rejected[batch.number, group.name] = why
                if able:
                    found[group.name] = _Option(group, zone, frozenset(able))
                    break
        return found

    def _template(self, group: ScalableGroup, zone: str | None) -> _Template:
        there = self._nodes.count(group.name) > 0
        key = group.name, zone, there
        if key not in self._templates:
            node = self._nodes.find_alike(group.name, group.shape, zone) or group.shape.node(f"{group.name} new", zone)
            fit = [each for each in self._batches if explain_never(each.sample.spec, group.shape) is None]
            where = f"{EXPECTED_ZONE} {zone}, {'where it has a node' if there else 'its first zone'}"
            why = {each: self._why(each, group, node, where) for each in fit}
            self._templates[key] = _Template(node, self._nodes.domain(node), why)
        return self._templates[key]

    def _why(self, batch: Batch, group: ScalableGroup, node: Node, where: str) -> str | None:
        """Return why an empty node does not take a pod, other pods aside, or None. ``where`` is said of its zone."""
        sample, empty = batch.sample, self._free(group)
        if not empty.covers(sample.requests):
            short = "; ".join(str(each) for each in empty.shortages(sample.requests)) or "max pods reached"
            return f"too large for an empty node, DaemonSets included: {short}"
        if not sample.spec.affinity.allows(node.labels):
            unmet = sample.spec.affinity.unmet_selector(node.labels) or sample.spec.affinity.unmet_terms(node.labels)
            return f"{where}: {unmet}"
        return None

    def _why_not(self, batch: Batch, template: _Template) -> str | None:
        """Return why other pods keep a pod off a new node, or None. Nodes of one domain have the same answer."""
        if not self._nodes.has_rules(batch):
            return None
        key = batch.number, template.domain
        if key not in self._by_domain:
            reason = self._nodes.why_not(batch, template.node)
            self._by_domain[key] = None if reason is None else reason.text
        return self._by_domain[key]

    def _estimate(self, option: _Option, options: Mapping[str, _Option], waiting: Waiting) -> _Estimate:
        groups = [option.group, *self._similar(option, options)]
        most = sum(group.max_size - self._nodes.count(group.name) for group in groups)
        counts = {batch: len(waiting[batch]) for batch in option.batches}
        shape, template = option.group.shape, self._template(option.group, option.zone)
        key = shape.allocatable, self._free(option.group), template.domain, most, frozenset(counts.items())
        if key not in self._planned:
            # Without rules about other pods, what other groups got in the last scale-up does not matter.
            known = None if any(map(self._nodes.has_rules, counts)) else self._planned_before.get(key)
            self._planned[key] = known or estimate_nodes(
                shape, option.zone, template.node, self._nodes, counts, most=most
            )
        return _Estimate(option, *self._planned[key])

    def _similar(self, option: _Option, options: Mapping[str, _Option]) -> list[ScalableGroup]:
        """Return the groups that share new nodes with an option's: similar ones that all its pods fit."""
        if not self._plan.balance_similar:
            return []
        name = option.group.name
        if name not in self._alike_groups:
            others = (group for group in self._groups if group is not option.group)
            self._alike_groups[name] = [group for group in others if self._alike(option.group, group)]
        return [
            group
            for group in self._alike_groups[name]
            if group.name in options and option.batches <= options[group.name].batches
        ]

    def _alike(self, first: ScalableGroup, second: ScalableGroup) -> bool:
        return (
            select_compared_labels(dict(first.shape.labels)) == select_compared_labels(dict(second.shape.labels))
            and _near(first.capacity, second.capacity, 0, memory=_MEMORY_TOLERANCE)
            and _near(first.shape.allocatable, second.shape.allocatable, _TOLERANCE)
            and _near(self._free(first), self._free(second), _TOLERANCE)
        )

    def _free(self, group: ScalableGroup) -> ResourceAmounts:
        return group.shape.allocatable - self._nodes.overhead(group.shape)

    def _record_waste(self, other: _Estimate, best: _Estimate) -> None:
        text = f"same priority, but its nodes would waste more than those of {best.option.group.name}"
        for batch in other.pods:
            self._reasons.outranked[batch.number, other.option.group.name] = text

    def _settle(self, best: _Estimate, similar: Sequence[ScalableGroup], waiting: Waiting) -> None:
        """Add the nodes, each in its group's next zone, and place the pods that they are for, as far as they fit."""
        made = self._make(len(best.planned), [best.option.group, *similar])
        touched = {batch: iter(waiting[batch]) for each in best.planned for batch in each.pods}
        left: dict[Batch, list[Pod]] = {batch: [] for batch in touched}
        for planned, node in zip(best.planned, made, strict=True):
            for batch, count in planned.pods.items():
                for pod in islice(touched[batch], count):
                    if self._takes(batch, node):
                        self._nodes.put(batch, pod, node)
                    else:
                        left[batch].append(pod)
        for batch, others in touched.items():
            waiting[batch] = [*left[batch], *others]
        for batch in [each for each in waiting if each.depends_on_pods or each in touched or self._asks_for_zone(each)]:
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

    def _takes(self, batch: Batch, node: SimNode) -> bool:
        return (
            node.free.covers(batch.sample.requests)
            and batch.sample.spec.affinity.allows(node.node.labels)
            and self._nodes.why_not(batch, node.node) is None
        )

    def _asks_for_zone(self, batch: Batch) -> bool:
        if batch not in self._zonal:
            self._zonal[batch] = any(
                len(list_allowed_zones(batch.sample.spec, group.shape)) < len(group.shape.zones)
                for group in self._groups
            )
        return self._zonal[batch]


def select_highest_groups(priorities: Mapping[str, int], groups: Iterable[str]) -> list[str]:
    """Return the groups that the priority expander keeps: those of the highest priority; all if none can win.

    The search for the highest starts at -1, so negative priorities never win.
    """
    names = list(groups)
    top = max((priorities.get(name, -1) for name in names), default=-1)
    return [name for name in names if priorities.get(name, -1) == top] if top >= 0 else names


def _near(first: ResourceAmounts, second: ResourceAmounts, tolerance: float, *, memory: float | None = None) -> bool:
    """Return whether two amounts of each resource differ by at most this part of the larger one."""
    amounts = [{**dict(each.items()), "pods": each.pods} for each in (first, second)]
    if amounts[0].keys() != amounts[1].keys():
        return False
    for name, one in amounts[0].items():
        other = amounts[1][name]
        allowed = memory if memory is not None and name == "memory" else tolerance
        if abs(one - other) > max(one, other) * allowed:
            return False
    return True
