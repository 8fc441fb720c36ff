"""NodePools for the simulation: which of a pool's instance types and zones a pod can use, and which have room.

A pool has hundreds of instance types. Sets of types are integers, one bit per type, smallest type first; the sets of
types with at least some amount of a resource are computed once per resource.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar

from multiarch.autoscaling.model import NodeClassPlan, NodePoolPlan
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import Accelerator, InstanceType
from multiarch.facts.labels import (
    ARCHITECTURE,
    HOSTNAME,
    KARPENTER_CAPACITY_TYPE,
    OPERATING_SYSTEM,
    REGION,
    REPLACED_BY,
    ZONE,
)
from multiarch.facts.node_resources import usable_memory
from multiarch.facts.partitions import region_of_zone
from multiarch.facts.taints import Effect
from multiarch.manifests.quantities import bytes_in_words, cpu_in_words, parse_quantity, round_up
from multiarch.prices.model import Amount, RegionPrices, UnknownPrice
from multiarch.scheduling.affinity import NodeAffinity, PreferredTerm, Term
from multiarch.scheduling.fit import allowed_zones, daemon_overhead
from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import Resources
from multiarch.scheduling.topology_rules import PreferredPodTerm, SpreadConstraint
from multiarch.simulate.batches import domains_of
from multiarch.simulate.settled import Unavailable
from multiarch.simulate.shapes import pool_shapes

_CONSTANT = (ARCHITECTURE, OPERATING_SYSTEM, REGION, KARPENTER_CAPACITY_TYPE)
"""Labels that have one value, or that every NodePool lists."""
_Weighted = TypeVar("_Weighted", PreferredPodTerm, PreferredTerm)


@dataclass(frozen=True, slots=True)
class Offer:
    """The part of a pool that a pod can use: a set of types, and zones."""

    types: int
    zones: tuple[str | None, ...]


class _Levels:
    """Sets of types by their amount of one resource."""

    def __init__(self, amounts: Sequence[int]) -> None:
        order = sorted(range(len(amounts)), key=lambda index: amounts[index])
        self._values = [amounts[index] for index in order]
        self._sets = [0] * (len(order) + 1)
        for place in range(len(order) - 1, -1, -1):
            self._sets[place] = self._sets[place + 1] | 1 << order[place]

    def at_least(self, amount: int) -> int:
        return self._sets[bisect_left(self._values, amount)]

    def at_most(self, amount: int) -> int:
        return self._sets[0] & ~self.at_least(amount + 1)


class Pool:
    """One NodePool with the types that it can buy. ``keys`` are the labels that pods of the simulation use."""

    def __init__(
        self,
        plan: NodePoolPlan,
        node_class: NodeClassPlan,
        zones: tuple[str, ...],
        keys: frozenset[str],
        *,
        region: str | None = None,
        unavailable: Unavailable | None = None,
        prices: RegionPrices | None = None,
    ) -> None:
        """Compute shapes and labels of all types. With ``prices``, types without one can't be bought."""
        self.plan = plan
        self._prices = prices
        self._offers: dict[tuple[str | None, ...], list[tuple[int, Sequence[str | None]]]] = {}
        self._unavailable = unavailable or Unavailable()
        order = [capacity.architecture for capacity in plan.capacities]
        wanted = next((each.values for each in plan.requirements if each.key == ZONE), ())
        self.zones = tuple(wanted) or zones
        priced = () if prices is None else priced_types(plan, prices)
        self.without_prices = prices is not None and not priced
        """Whether prices were given, and none of them is of the pool's types."""
        self.types = tuple(sorted(priced or plan.instance_types, key=lambda each: _size(each, order)))
        self.open_zones = self._unavailable.open_zones(self.zones)
        shapes = pool_shapes(plan, node_class, self.zones, region)
        self.shapes = tuple(shapes[each.name] for each in self.types)
        self._planned = tuple({k: v for k, v in each.labels if k not in REPLACED_BY} for each in self.shapes)
        type_sets: dict[tuple[object, ...], int] = {}
        for index, shape in enumerate(self.shapes):
            labels = dict(shape.labels)
            type_set = (shape.architecture, *(labels.get(key) for key in sorted(keys)))
            type_sets[type_set] = type_sets.get(type_set, 0) | 1 << index
        architectures = sorted({each.architecture for each in self.types})
        self._by_architecture = {
            each: sum(1 << index for index, shape in enumerate(self.shapes) if shape.architecture is each)
            for each in architectures
        }
        by_architecture = {each.architecture: each for each in plan.capacities}
        self._available = sum(
            types
            for architecture, types in self._by_architecture.items()
            if self._unavailable.why_not(plan.name, by_architecture[architecture], self.zones or (None,)) is None
        )
        self.type_sets = tuple(type_sets.values())
        """Sets of types that have the same labels for all pods; they differ in size."""
        listed = (each.key for each in plan.requirements if each.operator == "In")
        self._topology_keys = frozenset((*_CONSTANT, *listed, *(key for key, _ in plan.labels)))
        self._room: dict[str, _Levels] = {}
        self._overhead: tuple[Resources, ...] = ()
        self._capacity_cpu = _Levels([each.vcpus * 1000 for each in self.types])
        self._capacity_memory = _Levels([usable_memory(each) for each in self.types])
        self._memory_limit = None if plan.memory_limit is None else round_up(parse_quantity(plan.memory_limit))
        self._free: tuple[Resources, ...] = ()

    def planned(self, index: int) -> Mapping[str, str]:
        """The labels that Karpenter plans a node of a type with: the deprecated ones come later, from the kubelet."""
        return self._planned[index]

    def planned_node(self, index: int, name: str, zone: str | None, host: str) -> Node:
        """A node of a type in a zone as Karpenter plans it."""
        zonal = {} if zone is None else {ZONE: zone}
        return Node(name, {**self._planned[index], HOSTNAME: host, **zonal}, self.plan.taints)

    def reserve(self, daemons: Sequence[Pod]) -> None:
        """Subtract what DaemonSets request from every type."""
        overhead = {}
        for type_set in self.type_sets:
            overhead[type_set] = daemon_overhead(daemons, self.shapes[first(type_set)])
        by_index = {index: overhead[type_set] for type_set in self.type_sets for index in bits(type_set)}
        self._overhead = tuple(by_index[index] for index in range(len(self.types)))
        self._free = tuple(shape.allocatable - taken for shape, taken in zip(self.shapes, self._overhead, strict=True))
        self._room.clear()

    def with_room_for(self, wanted: Resources) -> int:
        """The set of types that have room for ``wanted``, DaemonSets included."""
        found = self._at_least("cpu", wanted.cpu) & self._at_least("memory", wanted.memory)
        found &= self._at_least("pods", wanted.pods) & self._at_least("ephemeral-storage", wanted.ephemeral_storage)
        for name, amount in wanted.extended:
            found &= self._at_least(name, amount)
        return found

    def _at_least(self, resource: str, amount: int) -> int:
        if amount <= 0:
            return self.all
        if resource not in self._room:
            self._room[resource] = _Levels([_amount(each, resource) for each in self._free])
        return self._room[resource].at_least(amount)

    @property
    def all(self) -> int:
        """The set of all types."""
        return (1 << len(self.types)) - 1

    def within_limits(self, used: Resources) -> int:
        """The set of types that can be had and added within the limits; ``used`` is the nodes' capacity."""
        found = self._available
        if self.plan.cpu_limit is not None:
            found &= self._capacity_cpu.at_most(self.plan.cpu_limit * 1000 - used.cpu)
        if self._memory_limit is not None:
            found &= self._capacity_memory.at_most(self._memory_limit - used.memory)
        return found

    def largest(self, types: int) -> Resources:
        """The largest CPU and the largest memory of ``types``, each by itself."""
        chosen = [self.types[index] for index in bits(types)]
        return Resources(max(each.vcpus for each in chosen) * 1000, max(usable_memory(each) for each in chosen))

    def architectures(self, types: int) -> tuple[Architecture, ...]:
        """Architectures of a set of types, sorted."""
        return tuple(each for each in self._by_architecture if self._by_architecture[each] & types)

    def why_unavailable(self, offer: Offer) -> str | None:
        """Why no node can be had for a pod that can use ``offer``, or None. Limits are not looked at."""
        by_architecture = {each.architecture: each for each in self.plan.capacities}
        whys = [
            self._unavailable.why_not(self.plan.name, by_architecture[each], offer.zones)
            for each in self.architectures(offer.types)
        ]
        return None if None in whys else "; ".join(dict.fromkeys(why for why in whys if why))

    def capacity_of(self, instance_type: str, otherwise: Resources) -> Resources:
        """CPU and memory of a node as its limits count them; of a type that the pool can't buy, ``otherwise``."""
        index = next((index for index, each in enumerate(self.types) if each.name == instance_type), None)
        return otherwise if index is None else self.largest(1 << index)

    @property
    def priced(self) -> bool:
        """Whether prices decide about the type that is bought."""
        return self._prices is not None and not self.without_prices

    def bought(self, types: int, zones: tuple[str | None, ...]) -> tuple[int, Sequence[str | None]]:
        """The index of the type that is bought of a set, and those of ``zones`` in which it is the cheapest.

        Without prices it is the smallest type, in any of the zones. Bare metal and accelerators come last, as Karpenter
        has it.
        """
        if not self.priced:
            return first(types), zones
        if zones not in self._offers:
            self._offers[zones] = self._offers_in(zones)
        return next((index, there) for index, there in self._offers[zones] if types >> index & 1)

    def _offers_in(self, zones: tuple[str | None, ...]) -> list[tuple[int, Sequence[str | None]]]:
        """All types with the zones in which they are the cheapest, in the order in which they are bought."""
        found = []
        for index, each in enumerate(self.types):
            hours = {zone: self._hour(each, zone) for zone in zones}
            known = [hour for hour in hours.values() if isinstance(hour, Decimal)]
            lowest = min(known) if known else Decimal("Infinity")
            there = [zone for zone in zones if hours[zone] == lowest] or zones
            found.append(((_is_exotic(each), lowest, index), there))
        return [(key[2], there) for key, there in sorted(found, key=lambda each: each[0])]

    def _hour(self, instance: InstanceType, zone: str | None) -> Amount:
        """The price of a type in a zone; where the zone's name is a placeholder, the mean of all zones."""
        if self._prices is None:
            return UnknownPrice("no prices were given")
        known = (zone,) if zone and region_of_zone(zone) == self._prices.region else ()
        return self._prices.hour(instance.name, self.plan.capacities[0].capacity_type, known)

    def why_types_are_missing(self) -> str:
        """Which types are not bought for want of a price, as in ``general-arm64-spot 12 of 30``, or an empty text."""
        missing = len(self.plan.instance_types) - len(self.types)
        return f"{self.plan.name} {missing} of {len(self.plan.instance_types)}" if missing else ""

    @property
    def closed(self) -> bool:
        """Whether a migration removes the pool: its CPU limit is 0."""
        return self.plan.cpu_limit == 0

    def why_limited(self, wanted: Resources) -> str:
        """Why the limits allow no node for a pod that requests ``wanted``, such as ``limit cpu 64 reached``."""
        if self.closed:
            return "closed: limit cpu is 0"
        if self.plan.cpu_limit is not None and self.plan.cpu_limit * 1000 < wanted.cpu:
            return f"limit cpu {self.plan.cpu_limit} is less than the pod's {cpu_in_words(wanted.cpu)}"
        if self._memory_limit is not None and self._memory_limit < wanted.memory:
            return f"limit memory {self.plan.memory_limit} is less than the pod's {bytes_in_words(wanted.memory)}"
        limits = [] if self.plan.cpu_limit is None else [f"limit cpu {self.plan.cpu_limit}"]
        limits += [] if self.plan.memory_limit is None else [f"limit memory {self.plan.memory_limit}"]
        return f"{' or '.join(limits)} reached"

    def offer(self, spec: PodSpec, *, soft_taints: bool) -> Offer | None:
        """What a pod of any size can use, or None. ``soft_taints``: ``PreferNoSchedule`` excludes it too."""
        if self.unknown_topology_key(spec):
            return None
        for taint in self.plan.taints:
            excludes = soft_taints or taint.effect is not Effect.PREFER_NO_SCHEDULE
            if excludes and not any(each.tolerates(taint) for each in spec.tolerations):
                return None
        types, zones = 0, dict.fromkeys(self.zones or (None,), False)
        for type_set in self.type_sets:
            allowed = allowed_zones(spec, self.shapes[first(type_set)])
            if allowed:
                types |= type_set
                zones |= dict.fromkeys(allowed, True)
        return Offer(types, tuple(zone for zone, there in zones.items() if there)) if types else None

    def unknown_topology_key(self, spec: PodSpec) -> str | None:
        """The first topology key in a rule of ``spec`` whose values Karpenter does not know for this pool, or None.

        It knows zones and hosts, and what the pool itself sets: labels, and requirements with ``In``. Of the labels of
        instance types it takes any value, most often one that the pool can't buy.
        Source: karpenter, ``pkg/controllers/provisioning/scheduling/topology.go`` (``buildDomainGroups``).
        """
        return next((key for key in domains_of(spec, hard=True) if key not in self._topology_keys), None)


def priced_types(plan: NodePoolPlan, prices: RegionPrices) -> tuple[InstanceType, ...]:
    """The types that have a price as the pool buys them: Karpenter takes others for types that the region lacks.

    Source: karpenter-provider-aws, ``pkg/providers/instancetype/offering/base_resolver.go``.
    """
    capacity_type = plan.capacities[0].capacity_type
    return tuple(each for each in plan.instance_types if isinstance(prices.hour(each.name, capacity_type), Decimal))


def _is_exotic(instance: InstanceType) -> bool:
    """Whether Karpenter buys the type only if no other will do.

    Source: karpenter-provider-aws, ``pkg/providers/instance/filter/filter.go`` (``ExoticInstanceTypeFilter``).
    """
    return instance.bare_metal or instance.accelerator is not Accelerator.NONE


def _size(instance: InstanceType, order: Sequence[Architecture]) -> tuple[int, int, int, str]:
    """Sort key of types: size, then the position of the architecture in ``order``."""
    return instance.vcpus, instance.memory_mib, order.index(instance.architecture), instance.name


def relaxations(spec: PodSpec, *, soft_taints: bool) -> Iterable[tuple[PodSpec, bool]]:
    """Yield the specs that Karpenter tries for a pod, in order, and whether ``PreferNoSchedule`` taints exclude it.

    At first preferences count as requirements: of node affinity the preferred term with the highest weight and the
    first required term, and all of pod affinity and anti-affinity. Then Karpenter drops, one after the other: required
    terms but the last; preferred pod affinity, pod anti-affinity and node affinity, each from the highest weight down;
    spread constraints with ``ScheduleAnyway``; and at last ``PreferNoSchedule``.
    Source: karpenter, ``pkg/controllers/provisioning/scheduling/preferences.go``.
    """
    affinity = spec.affinity
    left = _Remaining(
        affinity.required,
        _by_weight(spec.preferred_pod_affinity),
        _by_weight(spec.preferred_pod_anti_affinity),
        _by_weight(affinity.preferred),
        list(spec.spread),
    )
    yield left.of(spec), True
    while left.drop_one():
        yield left.of(spec), True
    if soft_taints:
        yield left.of(spec), False


@dataclass(slots=True)
class _Remaining:
    """The alternatives and preferences of a pod that were not dropped yet."""

    terms: tuple[Term, ...] | None
    near: list[PreferredPodTerm]
    away: list[PreferredPodTerm]
    preferred: list[PreferredTerm]
    spread: list[SpreadConstraint]

    def drop_one(self) -> bool:
        """Drop the next one; False where none is left."""
        soft = [place for place, each in enumerate(self.spread) if not each.hard]
        if self.terms is not None and len(self.terms) > 1:
            self.terms = self.terms[1:]
        elif preferences := self.near or self.away or self.preferred:
            del preferences[0]
        elif soft:
            self.spread[soft[0]] = self.spread[-1]
            del self.spread[-1]
        else:
            return False
        return True

    def of(self, spec: PodSpec) -> PodSpec:
        """The spec with one required term, with preferences as requirements, and with all spread constraints hard."""
        terms = self.terms and self.terms[:1]
        for each in self.preferred[:1]:
            own = terms[0].expressions if terms else ()
            fields = terms[0].fields if terms else ()
            terms = (Term((*own, *each.term.expressions), fields),)
        return replace(
            spec,
            affinity=NodeAffinity(spec.affinity.selector, terms),
            spread=tuple(replace(each, hard=True) for each in self.spread),
            pod_affinity=(*spec.pod_affinity, *(each.term for each in self.near)),
            pod_anti_affinity=(*spec.pod_anti_affinity, *(each.term for each in self.away)),
            preferred_pod_affinity=(),
            preferred_pod_anti_affinity=(),
        )


def _by_weight(terms: Sequence[_Weighted]) -> list[_Weighted]:
    return sorted(terms, key=lambda term: -term.weight)


def first(types: int) -> int:
    """The index of the smallest type in a set that is not empty."""
    return (types & -types).bit_length() - 1


def bits(types: int) -> Iterable[int]:
    """The indices of a set's types."""
    while types:
        yield first(types)
        types &= types - 1


def _amount(resources: Resources, name: str) -> int:
    return resources.pods if name == "pods" else dict(resources.items()).get(name, 0)
