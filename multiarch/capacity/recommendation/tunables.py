"""The values of a stack file that limit its capacity, what raising them costs, and a plan with other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

from multiarch.autoscaling.model import NodePoolPlan
from multiarch.capacity.recommendation.rates import Rates
from multiarch.facts.labels import ZONE
from multiarch.manifests.quantities import parse_quantity
from multiarch.nodes.model import NodeGroupPlan, Sizes
from multiarch.stack.model import Plan

Key = tuple[str, ...]
"""The path of a value in a stack file."""
Values = Mapping[Key, int]
"""Values of tunables, by key."""

_GIB = 2**30
_MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a change costs: ``always`` for nodes that run all the time, ``at_most`` while all new nodes run.

    The order is that of preference: what runs all the time counts first.
    """

    always: Decimal = Decimal(0)
    at_most: Decimal = Decimal(0)

    def __add__(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(self.always + other.always, self.at_most + other.at_most)

    def __mul__(self, times: int) -> Cost:
        """The cost of several."""
        return Cost(self.always * times, self.at_most * times)


@dataclass(frozen=True, slots=True)
class Tunable:
    """A value of the stack file that can be raised from ``present``, each 1 at ``cost``.

    Sizes are in nodes, limits in vCPUs and GiB; ``step`` is the raise that certainly allows one more node. ``zones``
    are 0, as they are, or 1, all zones of the network; ``most`` is 1 for them, None for no limit.
    """

    key: Key
    present: int
    cost: Cost
    step: int = 1
    most: int | None = None

    def capped(self, value: int) -> int:
        """Return the value, or the largest possible one."""
        return value if self.most is None else min(value, self.most)


def list_tunables(plan: Plan, rates: Rates) -> tuple[Tunable, ...]:
    """Return everything in a stack file that can give its plan more capacity without a new node group, sorted by key.

    ``maxSize`` where the cluster autoscaler grows node groups, else ``desiredSize``; limits of NodePools that have
    some; ``zones`` of groups and NodePools that leave some of the network's out, except of a group that has its own.
    """
    found = [*_of_groups(plan, rates), *_of_pools(plan, rates)]
    return tuple(sorted(found, key=lambda each: each.key))


def _of_groups(plan: Plan, rates: Rates) -> Iterator[Tunable]:
    grown = plan.autoscaling.cluster_autoscaler is not None
    for path, groups in groupby(sorted(plan.node_groups, key=lambda each: each.path), key=lambda each: each.path):
        own = list(groups)
        price = sum((rates.node[each.name] for each in own), Decimal(0))
        sizes = own[0].sizes
        if grown:
            yield Tunable((*path, "maxSize"), sizes.maximum, Cost(at_most=price))
        else:
            yield Tunable((*path, "desiredSize"), sizes.desired, Cost(always=price))
        if not (_are_one_per_zone(own) or _has_own_zone(own[0])) and _missing_zones(plan, own[0].zones):
            yield Tunable((*path, "zones"), 0, Cost(), most=1)


def _are_one_per_zone(groups: Sequence[NodeGroupPlan]) -> bool:
    """Return whether the groups of one path in the stack file are one for each zone."""
    return len(groups) > len({each.architecture for each in groups})


def _has_own_zone(group: NodeGroupPlan) -> bool:
    """Return whether a group is in its zones for a reason: a placement group, EFA or a capacity reservation."""
    return bool(group.placement_group) or group.efa or group.capacity_reservation.startswith(("cr-", "arn:"))


def _missing_zones(plan: Plan, zones: Sequence[str]) -> tuple[str, ...]:
    """The network's zones that a group or NodePool omits; none where it uses all, or where they have no names."""
    return tuple(zone for zone in plan.network.zones if zone not in zones) if zones else ()


def _of_pools(plan: Plan, rates: Rates) -> Iterator[Tunable]:
    for key, own in group_pools(plan).items():
        types = [each for pool in own for each in pool.instance_types]
        first = own[0]
        if first.cpu_limit:
            price = sum((rates.vcpu[pool.name] for pool in own), Decimal(0))
            largest = max(each.vcpus for each in types)
            yield Tunable((*key, "cpuLimit"), first.cpu_limit, Cost(at_most=price), largest)
        if first.memory_limit is not None:
            price = sum((rates.gib[pool.name] for pool in own), Decimal(0))
            largest = -(-max(each.memory_mib for each in types) // _MIB_PER_GIB)
            yield Tunable((*key, "memoryLimit"), _gib(first.memory_limit), Cost(at_most=price), largest)
        if _missing_zones(plan, list_zones(first)):
            yield Tunable((*key, "zones"), 0, Cost(), most=1)


def group_pools(plan: Plan) -> dict[Key, list[NodePoolPlan]]:
    """Return the NodePools that buy nodes, by their path in the stack file; none while a migration removes them."""
    karpenter = plan.autoscaling.karpenter
    found: dict[Key, list[NodePoolPlan]] = {}
    if karpenter and karpenter.cordoned:
        return found
    for pool in plan.autoscaling.pools:
        if pool.instance_types:
            found.setdefault(_path(pool), []).append(pool)
    return found


def _path(pool: NodePoolPlan) -> Key:
    # autoscaling.karpenter.nodePools.NAME, whose name may have dots.
    return tuple(pool.key.split(".", 3))


def list_zones(pool: NodePoolPlan) -> tuple[str, ...]:
    """Return the zones that a NodePool names; none where it may use all of the network's."""
    return next((each.values for each in pool.requirements if each.key == ZONE), ())


def _gib(quantity: str) -> int:
    return int(parse_quantity(quantity) / Fraction(_GIB))


def with_values(plan: Plan, values: Values) -> Plan:
    """Return the plan that a stack file with these values has; keys that are missing keep the plan's."""
    groups = tuple(_group_with(plan, group, values) for group in plan.node_groups)
    pools = tuple(_pool_with(plan, pool, values) for pool in plan.autoscaling.pools)
    autoscaling = plan.autoscaling.with_pools(pools)
    return replace(plan, node_groups=groups, autoscaling=autoscaling)


def _group_with(plan: Plan, group: NodeGroupPlan, values: Values) -> NodeGroupPlan:
    sizes = group.sizes
    desired = values.get((*group.path, "desiredSize"), sizes.desired)
    most = max(desired, values.get((*group.path, "maxSize"), sizes.maximum))
    zones = group.zones
    if values.get((*group.path, "zones")):
        zones = tuple(sorted((*zones, *_missing_zones(plan, zones))))
    return replace(group, sizes=Sizes(sizes.minimum, desired, most), zones=zones)


def _pool_with(plan: Plan, pool: NodePoolPlan, values: Values) -> NodePoolPlan:
    path = _path(pool)
    cpu, memory = pool.cpu_limit, pool.memory_limit
    limit = values.get((*path, "memoryLimit"))
    if limit is not None and memory is not None and limit != _gib(memory):
        memory = f"{limit}Gi"
    requirements = pool.requirements
    if values.get((*path, "zones")):
        every = tuple(sorted((*list_zones(pool), *_missing_zones(plan, list_zones(pool)))))
        requirements = tuple(replace(each, values=every) if each.key == ZONE else each for each in requirements)
    return replace(pool, cpu_limit=values.get((*path, "cpuLimit"), cpu), memory_limit=memory, requirements=requirements)
