"""Node groups over several zones, and one group for each zone in their place.

The cluster autoscaler judges all nodes of a group by one zone, so pods that need another one may stay pending however
large the group may become. One group for each zone helps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from multiarch.capacity.model import CapacityFailure
from multiarch.capacity.recommendation.changes import ValueChange
from multiarch.capacity.recommendation.rates import Rates
from multiarch.capacity.recommendation.tunables import Cost, Key, are_one_per_zone
from multiarch.cost.pricing import list_zones
from multiarch.nodes.model import NodeGroupPlan
from multiarch.stack.model import Plan


def list_groups_over_zones(plan: Plan) -> list[Key]:
    """Return the paths of node groups that could be one for each zone; none without the cluster autoscaler."""
    if plan.autoscaling.cluster_autoscaler is None:
        return []
    return [
        path
        for path, groups in _by_path(plan).items()
        if len(list_zones(plan, groups[0].name)) > 1 and not are_one_per_zone(groups)
    ]


def list_one_per_zone_changes(plan: Plan, paths: Sequence[Key]) -> Iterator[ValueChange]:
    """Yield the changes that make one group per zone of each of ``paths``; sizes are divided and rounded up."""
    groups = _by_path(plan)
    for path in paths:
        zones, sizes = len(list_zones(plan, groups[path][0].name)), groups[path][0].sizes
        yield ValueChange((*path, "onePerZone"), None, new=True)
        for name, size in (("minSize", sizes.minimum), ("desiredSize", sizes.desired), ("maxSize", sizes.maximum)):
            if (divided := -(-size // zones)) != size:
                yield ValueChange((*path, name), size, divided)


def rename_failures(failures: Sequence[CapacityFailure], old: Plan, new: Plan) -> list[CapacityFailure]:
    """Return the failures with the names that their groups have in the new plan: those of all zones."""
    names = {group.name: (group.path, group.architecture) for group in old.node_groups}
    there = {group.name for group in new.node_groups}

    def all_zones(name: str) -> list[str]:
        if name in there or name not in names:
            return [name]
        return [each.name for each in new.node_groups if (each.path, each.architecture) == names[name]]

    return [replace(each, groups=tuple(new for name in each.groups for new in all_zones(name))) for each in failures]


def sum_group_costs(plan: Plan, rates: Rates) -> Cost:
    """Return the cost of a plan's node groups: of what they start with, and of the rest up to their maximum."""
    grown = plan.autoscaling.cluster_autoscaler is not None
    always = sum((rates.node[each.name] * each.sizes.desired for each in plan.node_groups), Decimal(0))
    at_most = sum((rates.node[each.name] * each.sizes.maximum for each in plan.node_groups if grown), Decimal(0))
    return Cost(always, at_most)


def merge_changes(first: Sequence[ValueChange], then: Sequence[ValueChange]) -> tuple[ValueChange, ...]:
    """Return changes that are made one after the other, as one change for each key."""
    found = {each.key: each for each in first}
    for each in then:
        found[each.key] = replace(each, old=found[each.key].old) if each.key in found else each
    return tuple(sorted((each for each in found.values() if each.old != each.new), key=lambda each: each.key))


def _by_path(plan: Plan) -> dict[Key, list[NodeGroupPlan]]:
    found: dict[Key, list[NodeGroupPlan]] = {}
    for group in plan.node_groups:
        found.setdefault(group.path, []).append(group)
    return found
