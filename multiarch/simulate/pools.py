"""NodePools for the simulation: which of a pool's instance types and zones a pod can use, and which have room.

A pool has hundreds of instance types; the sets of types with at least some amount of a resource are computed once per
resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from multiarch.autoscaling.model import NodeClassPlan, NodePoolPlan
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import (
    ARCHITECTURE,
    HOSTNAME,
    KARPENTER_CAPACITY_TYPE,
    OPERATING_SYSTEM,
    REGION,
    REPLACED_BY,
    ZONE,
)
from multiarch.facts.node_resources import compute_usable_memory
from multiarch.facts.taints import Effect
from multiarch.manifests.quantities import format_bytes, format_cpu, parse_quantity, round_up
from multiarch.scheduling.affinity import NodeAffinity, PreferredTerm, Term
from multiarch.scheduling.fit import list_allowed_zones, sum_daemon_overhead
from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.scheduling.topology_rules import PreferredPodTerm, SpreadConstraint
from multiarch.simulate.batches import list_domains
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.offerings import Levels, Offerings, get_first_type, list_priced_types, list_type_indices
from multiarch.simulate.settled import Unavailable
from multiarch.simulate.shapes import build_pool_shapes

_CONSTANT = (ARCHITECTURE, OPERATING_SYSTEM, REGION, KARPENTER_CAPACITY_TYPE)
"""Labels that have one value, or that every NodePool lists."""
_Weighted = TypeVar("_Weighted", PreferredPodTerm, PreferredTerm)


@dataclass(frozen=True, slots=True)
class Offer:
    """The part of a pool that a pod can use: a set of types, and zones."""

    types: int
    zones: tuple[str | None, ...]


class Pool:
    """One NodePool with the types that it can buy. ``keys`` are the labels that pods of the simulation use."""

    def __init__(
        self,
        plan: NodePoolPlan,
        node_class: NodeClassPlan,
        context: SimulationContext,
        keys: frozenset[str],
        unavailable: Unavailable | None = None,
    ) -> None:
        """Compute shapes and labels of all types. With prices, types without one can't be bought."""
        prices = context.prices
        self.plan = plan
        order = [capacity.architecture for capacity in plan.capacities]
        wanted = next((each.values for each in plan.requirements if each.key == ZONE), ())
        self.zones = tuple(wanted) or context.zones
        priced = () if prices is None else list_priced_types(plan, prices)
        self.without_prices = prices is not None and not priced
        """Whether prices were given, and none of them is of the pool's types."""
        self.priced = bool(priced)
        """Whether prices decide about the type that is bought."""
        self.types = tuple(
            sorted(
                priced or plan.instance_types,
                key=lambda each: (each.vcpus, each.memory_mib, order.index(each.architecture), each.name),
            )
        )
        known = prices if priced else None
        self.offerings = Offerings(plan, self.types, self.zones or (None,), unavailable or Unavailable(), known)
        shapes = build_pool_shapes(plan, node_class, self.zones, context.region)
        self.shapes = tuple(shapes[each.name] for each in self.types)
        self._planned: dict[int, Mapping[str, str]] = {}
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
        self.type_sets = tuple(type_sets.values())
        """Sets of types that have the same labels for all pods; they differ in size."""
        listed = (each.key for each in plan.requirements if each.operator == "In")
        self._topology_keys = frozenset((*_CONSTANT, *listed, *(key for key, _ in plan.labels)))
        self._room: dict[str, Levels] = {}
        self._overhead: tuple[ResourceAmounts, ...] = ()
        self._capacity_cpu = Levels([each.vcpus * 1000 for each in self.types])
        self._capacity_memory = Levels([compute_usable_memory(each) for each in self.types])
        self._memory_limit = None if plan.memory_limit is None else round_up(parse_quantity(plan.memory_limit))
        self._free: tuple[ResourceAmounts, ...] = ()

    def planned(self, index: int) -> Mapping[str, str]:
        """Return the labels that Karpenter plans a node with: the deprecated ones come later, from the kubelet."""
        if index not in self._planned:
            self._planned[index] = {k: v for k, v in self.shapes[index].labels if k not in REPLACED_BY}
        return self._planned[index]

    def planned_node(self, index: int, name: str, zone: str | None, host: str) -> Node:
        """Return a node of a type in a zone as Karpenter plans it."""
        zonal = {} if zone is None else {ZONE: zone}
        return Node(name, {**self.planned(index), HOSTNAME: host, **zonal}, self.plan.taints)

    def reserve(self, daemons: Sequence[Pod]) -> None:
        """Subtract what DaemonSets request from every type."""
        overhead = {}
        for type_set in self.type_sets:
            overhead[type_set] = sum_daemon_overhead(daemons, self.shapes[get_first_type(type_set)])
        by_index = {index: overhead[type_set] for type_set in self.type_sets for index in list_type_indices(type_set)}
        self._overhead = tuple(by_index[index] for index in range(len(self.types)))
        self._free = tuple(shape.allocatable - taken for shape, taken in zip(self.shapes, self._overhead, strict=True))
        self._room.clear()

    def with_room_for(self, wanted: ResourceAmounts) -> int:
        """Return the set of types that have room for ``wanted``, DaemonSets included."""
        found = self._at_least("cpu", wanted.cpu) & self._at_least("memory", wanted.memory)
        found &= self._at_least("pods", wanted.pods) & self._at_least("ephemeral-storage", wanted.ephemeral_storage)
        for name, amount in wanted.extended:
            found &= self._at_least(name, amount)
        return found

    def _at_least(self, resource: str, amount: int) -> int:
        if amount <= 0:
            return self.all
        if resource not in self._room:
            self._room[resource] = Levels(
                [{**dict(each.items()), "pods": each.pods}.get(resource, 0) for each in self._free]
            )
        return self._room[resource].at_least(amount)

    @property
    def all(self) -> int:
        """The set of all types."""
        return (1 << len(self.types)) - 1

    def within_limits(self, used: ResourceAmounts) -> int:
        """Return the set of types that can be added within the limits; ``used`` is the nodes' capacity."""
        found = self.all
        if self.plan.cpu_limit is not None:
            found &= self._capacity_cpu.at_most(self.plan.cpu_limit * 1000 - used.cpu)
        if self._memory_limit is not None:
            found &= self._capacity_memory.at_most(self._memory_limit - used.memory)
        return found

    def largest(self, types: int) -> ResourceAmounts:
        """Return the largest CPU and the largest memory of ``types``, each by itself."""
        chosen = [self.types[index] for index in list_type_indices(types)]
        return ResourceAmounts(
            max(each.vcpus for each in chosen) * 1000, max(compute_usable_memory(each) for each in chosen)
        )

    def architectures(self, types: int) -> tuple[Architecture, ...]:
        """Return architectures of a set of types, sorted."""
        return tuple(each for each in self._by_architecture if self._by_architecture[each] & types)

    def capacity_of(self, instance_type: str, otherwise: ResourceAmounts) -> ResourceAmounts:
        """Return a node's CPU and memory as limits count them; of a type that the pool can't buy, ``otherwise``."""
        index = next((index for index, each in enumerate(self.types) if each.name == instance_type), None)
        return otherwise if index is None else self.largest(1 << index)

    def why_types_are_missing(self) -> str:
        """Say which types lack a price, as in ``general-arm64-spot 12 of 30``, or an empty string."""
        missing = len(self.plan.instance_types) - len(self.types)
        return f"{self.plan.name} {missing} of {len(self.plan.instance_types)}" if missing else ""

    @property
    def closed(self) -> bool:
        """Whether a migration removes the pool: its CPU limit is 0."""
        return self.plan.cpu_limit == 0

    def why_limited(self, wanted: ResourceAmounts) -> str:
        """Return why the limits allow no node for a pod that requests ``wanted``, such as ``limit cpu 64 reached``."""
        if self.closed:
            return "closed: limit cpu is 0"
        if self.plan.cpu_limit is not None and self.plan.cpu_limit * 1000 < wanted.cpu:
            return f"limit cpu {self.plan.cpu_limit} is less than the pod's {format_cpu(wanted.cpu)}"
        if self._memory_limit is not None and self._memory_limit < wanted.memory:
            return f"limit memory {self.plan.memory_limit} is less than the pod's {format_bytes(wanted.memory)}"
        limits = [] if self.plan.cpu_limit is None else [f"limit cpu {self.plan.cpu_limit}"]
        limits += [] if self.plan.memory_limit is None else [f"limit memory {self.plan.memory_limit}"]
        return f"{' or '.join(limits)} reached"

    def offer(self, spec: PodSpec, *, soft_taints: bool) -> Offer | None:
        """Return what a pod of any size can use, or None. ``soft_taints``: ``PreferNoSchedule`` excludes it too."""
        if self.unknown_topology_key(spec):
            return None
        for taint in self.plan.taints:
            excludes = soft_taints or taint.effect is not Effect.PREFER_NO_SCHEDULE
            if excludes and not any(each.tolerates(taint) for each in spec.tolerations):
                return None
        types, zones = 0, dict.fromkeys(self.zones or (None,), False)
        for type_set in self.type_sets:
            allowed = list_allowed_zones(spec, self.shapes[get_first_type(type_set)])
            if allowed:
                types |= type_set
                zones |= dict.fromkeys(allowed, True)
        return Offer(types, tuple(zone for zone, there in zones.items() if there)) if types else None

    def unknown_topology_key(self, spec: PodSpec) -> str | None:
        """Return the first topology key of ``spec`` whose values Karpenter does not know for this pool, or None.

        It knows zones and hosts, and what the pool itself sets: labels, and requirements with ``In``. Of the labels of
        instance types it takes any value, most often one that the pool can't buy.
        Source: karpenter, ``pkg/controllers/provisioning/scheduling/topology.go`` (``buildDomainGroups``).
        """
        return next((key for key in list_domains(spec, hard=True) if key not in self._topology_keys), None)


def relax_spec(spec: PodSpec, *, soft_taints: bool) -> Iterable[tuple[PodSpec, bool]]:
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
        """Return the spec with one required term, preferences as requirements, and all spread constraints hard."""
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
