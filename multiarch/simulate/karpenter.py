"""Karpenter, simulated: from which NodePool each pending pod gets a node, and how many nodes that makes.

Its rules: pods in order of size; each goes on a planned node, the one with the fewest pods first, from any NodePool;
else on a new node of the NodePool with the highest weight that the pod can use and whose limits allow one. A planned
node keeps every instance type that still holds its pods; the cheapest of them is bought, without prices here the
smallest.
Source: karpenter, ``pkg/controllers/provisioning/scheduling/scheduler.go``.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from multiarch.facts.labels import HOSTNAME, ZONE
from multiarch.facts.taints import Effect
from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.scheduling.topology import Placements
from multiarch.simulate.batches import list_domains
from multiarch.simulate.model import Batch, Reasons, Waiting
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.offerings import get_first_type
from multiarch.simulate.pools import Offer, Pool, relax_spec

_Zones = tuple[str | None, ...]
_Domain = tuple[str | None, ...]
_COUNTED = " (a planned node counts as the largest instance type that it can become)"


@dataclass(slots=True, eq=False)
class _Claim:
    """A planned node, of the pool at index ``place``. ``turn`` orders nodes with the same number of pods."""

    number: int
    place: int
    pool: Pool
    types: int
    zones: _Zones
    used: ResourceAmounts
    turn: int
    pods: list[tuple[Batch, Pod]] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, int]:
        return len(self.pods), self.turn

    def node(self, types: int, zone: str | None) -> Node:
        """Return the node as it would be in a zone, for counts by host and zone. The zone is not decided at first."""
        host = f"claim-{self.number}"
        index = get_first_type(types)
        return self.pool.planned_node(index, f"{host} {index} {zone}", zone, host)

    def domain(self, types: int, keys: Sequence[str]) -> _Domain:
        """Return the values of the node's labels for ``keys``."""
        labels = self.pool.planned(get_first_type(types))
        return tuple(labels.get(key) for key in keys)


@dataclass(slots=True)
class _Relaxation:
    """One relaxation of a batch's pods (see :func:`relax_spec`), with what each pool offers for it.

    ``apart`` is the pod with its anti-affinity as its only rule about other pods. ``zonal``: its rules need a node in
    a single zone; ``domains``: topology keys, other than zone and host name, of its spread constraints and affinity;
    ``by_type_set``: it has rules with such keys, anti-affinity included; ``permanent``: what other pods forbid it now
    stays forbidden.
    """

    pod: Pod
    apart: Pod
    offers: list[Offer | None]
    zonal: bool
    domains: tuple[str, ...]
    by_type_set: bool
    permanent: bool
    heap: list[tuple[tuple[int, int], int]] = field(default_factory=list)
    seen: int = 0


@dataclass(frozen=True, slots=True)
class _Fitting:
    types: int
    zones: _Zones
    used: ResourceAmounts


class KarpenterSimulation:
    """Round after round: Karpenter plans nodes for all pending pods, the nodes start, and the remaining pods wait."""

    def __init__(self, pools: Sequence[Pool], nodes: Nodes, reasons: Reasons) -> None:
        """``pools`` are sorted, the highest weight first."""
        self._pools = pools
        self._nodes = nodes
        self._reasons = reasons
        self._capacity = {pool.plan.name: ResourceAmounts() for pool in pools}
        for pool in pools:
            for node in nodes.of_group(pool.plan.name):
                self._capacity[pool.plan.name] += pool.capacity_of(node.instance_type, node.shape.allocatable)
        self._relaxations: dict[int, list[_Relaxation]] = {}
        self._by_type_set = False
        self._soft_taints = any(
            taint.effect is Effect.PREFER_NO_SCHEDULE for pool in pools for taint in pool.plan.taints
        )
        self._start()

    def _start(self) -> None:
        """Begin a round: no node planned, existing nodes and pods counted."""
        self._claims: list[_Claim] = []
        self._turn = 0
        # What counts against limits: started nodes and planned nodes.
        self._counted = dict(self._capacity)
        self._domains: Counter[tuple[int, _Domain]] = Counter()
        self._placements: Placements | None = None
        self._possible = Placements()
        for found in self._relaxations.values():
            for relaxation in found:
                relaxation.heap, relaxation.seen = [], 0
        if self._nodes.pod_rules:
            self._placements = Placements()
            self._nodes.replay(self._placements)
            for pool in self._pools:
                for number, type_set in enumerate(pool.type_sets):
                    for zone in pool.zones or (None,):
                        # An empty node: each zone can be used, and there is always one more host.
                        name = f"{pool.plan.name} {number} {zone}"
                        self._placements.add(pool.planned_node(get_first_type(type_set), name, zone, name))

    def run(self, waiting: Waiting) -> None:
        """Add nodes for ``waiting`` pods until none helps, and remove placed pods from ``waiting``."""
        while waiting:
            self._start()
            placed = self._round(waiting)
            if not self._claims:
                return
            self._launch()
            for batch in list(waiting):
                left = [pod for pod in waiting[batch] if id(pod) not in placed]
                waiting[batch] = self._nodes.bind_all(batch, left)
                if not waiting[batch]:
                    del waiting[batch]

    def _round(self, waiting: Waiting) -> set[int]:
        """Plan nodes for all pods, the largest first; pods that did not fit are tried again while others are placed.

        Returns the identities of placed pods.
        """
        placed: set[int] = set()
        for batch in waiting:
            self._relaxations_of(batch)
        order = [(batch, pod) for batch, pods in waiting.items() for pod in pods]
        order.sort(key=lambda pair: (-pair[1].requests.cpu, -pair[1].requests.memory))
        queue = deque(order)
        passed = 0
        failed: set[int] = set()
        while queue and passed < len(queue):
            batch, pod = queue.popleft()
            if batch.number not in failed and self._add(batch, pod):
                placed.add(id(pod))
                passed = 0
                # A new pod can help those that depend on other pods, and no others.
                failed = {number for number in failed if self._is_permanent(number)}
                continue
            failed.add(batch.number)
            if not self._is_permanent(batch.number):
                queue.append((batch, pod))
                passed += 1
        return placed

    def _is_permanent(self, number: int) -> bool:
        """Return whether a batch that did not fit can't fit later in this round either."""
        return all(relaxation.permanent for relaxation in self._relaxations[number])

    def _relaxations_of(self, batch: Batch) -> list[_Relaxation]:
        if batch.number not in self._relaxations:
            found = []
            for spec, soft in relax_spec(batch.sample.spec, soft_taints=self._soft_taints):
                spread = {each.topology_key for each in spec.spread} - {HOSTNAME}
                permanent = not (spec.pod_affinity or spread)
                offers = [pool.offer(spec, soft_taints=soft) for pool in self._pools]
                pod = replace(batch.sample, spec=spec)
                apart = replace(pod, spec=replace(spec, spread=(), pod_affinity=()))
                domains = tuple(sorted(set(list_domains(replace(spec, pod_anti_affinity=())))))
                by_type_set = any(list_domains(apart.spec))
                self._by_type_set = self._by_type_set or by_type_set
                keys = (
                    *(rule.topology_key for rule in spec.spread),
                    *(term.topology_key for term in spec.pod_affinity),
                )
                zonal = ZONE in keys
                found.append(_Relaxation(pod, apart, offers, zonal, domains, by_type_set or bool(domains), permanent))
            self._relaxations[batch.number] = found
        return self._relaxations[batch.number]

    def _add(self, batch: Batch, pod: Pod) -> bool:
        """Place one pod: for each relaxation, on a planned node, else on a new one."""
        return any(
            self._join(batch, pod, relaxation) or self._open(batch, pod, relaxation)
            for relaxation in self._relaxations_of(batch)
        )

    def _join(self, batch: Batch, pod: Pod, relaxation: _Relaxation) -> bool:
        for claim in self._claims[relaxation.seen :]:
            heapq.heappush(relaxation.heap, (claim.key, claim.number))
        relaxation.seen = len(self._claims)
        aside = []
        joined = False
        while relaxation.heap and not joined:
            key, number = relaxation.heap[0]
            claim = self._claims[number]
            if key != claim.key:
                heapq.heapreplace(relaxation.heap, (claim.key, number))
                continue
            fitting, permanent = self._fitting(batch, relaxation, claim)
            if fitting is not None:
                self._put(batch, pod, claim, fitting)
                joined = True
                continue
            taken = heapq.heappop(relaxation.heap)
            if not permanent:
                aside.append(taken)
        for entry in aside:
            heapq.heappush(relaxation.heap, entry)
        return joined

    def _open(self, batch: Batch, pod: Pod, relaxation: _Relaxation) -> bool:
        for place, pool in enumerate(self._pools):
            offer = relaxation.offers[place]
            if offer is None:
                continue
            name = pool.plan.name
            types = pool.within_limits(self._counted[name])
            claim = _Claim(len(self._claims), place, pool, types, pool.zones or (None,), ResourceAmounts(), 0)
            fitting, _ = self._fitting(batch, relaxation, claim)
            if fitting is None:
                self._explain(batch, relaxation, offer, claim)
                continue
            self._turn += 1
            claim.turn = self._turn
            self._claims.append(claim)
            self._put(batch, pod, claim, fitting, opened=True)
            # Any of the types can be bought, so the largest is counted until one is.
            self._counted[name] += pool.largest(fitting.types)
            return True
        return False

    def _fitting(self, batch: Batch, relaxation: _Relaxation, claim: _Claim) -> tuple[_Fitting | None, bool]:
        """Return the types and zones of a planned node with one more pod, or None and whether that is permanent."""
        offer = relaxation.offers[claim.place]
        if offer is None:
            return None, True
        types = claim.types & offer.types
        zones = claim.zones if claim.zones == offer.zones else tuple(z for z in claim.zones if z in offer.zones)
        if not types or not zones:
            return None, True
        used = claim.used + batch.sample.requests
        types &= claim.pool.with_room_for(used)
        if not types:
            return None, True
        if batch.depends_on_pods or self._nodes.pod_anti_affinity:
            types, zones, permanent = self._open_domains(batch, relaxation, claim, types, zones)
            if not zones:
                return None, permanent
            if relaxation.zonal:
                zones = (self._emptiest(relaxation, claim, types, zones),)
        types &= claim.pool.offerings.of(zones)
        return (_Fitting(types, zones, used), True) if types else (None, not relaxation.zonal)

    def _emptiest(self, relaxation: _Relaxation, claim: _Claim, types: int, zones: _Zones) -> str | None:
        """The zone with the fewest pods, for which alone Karpenter plans a node, whether it has an offering or not.

        Source: karpenter, ``pkg/controllers/provisioning/scheduling/topologygroup.go`` (``nextDomainTopologySpread``).
        Among equally empty zones it takes any, round after round, so in the end one with an offering.
        """
        placements = self._placements

        def key(zone: str | None) -> tuple[tuple[int, ...], bool]:
            counts = placements.spread_counts(relaxation.pod, claim.node(types, zone), ZONE) if placements else ()
            return counts, not types & claim.pool.offerings.of((zone,))

        return min(zones, key=key)

    def _open_domains(
        self, batch: Batch, relaxation: _Relaxation, claim: _Claim, types: int, zones: _Zones
    ) -> tuple[int, _Zones, bool]:
        """Types and zones that other pods allow; of several domains, the one with the fewest of the batch's pods."""
        if not relaxation.by_type_set:
            return types, *self._open_zones(relaxation, claim, types, zones)
        # Without such topology keys, all types are one domain.
        found: dict[_Domain, tuple[int, set[str | None]]] = {}
        permanent = True
        for type_set in claim.pool.type_sets:
            if type_set & types:
                open_zones, still = self._open_zones(relaxation, claim, type_set & types, zones)
                permanent = permanent and still
                if open_zones:
                    domain = claim.domain(type_set & types, relaxation.domains)
                    others, there = found.get(domain, (0, set()))
                    found[domain] = (others | type_set & types, there | set(open_zones))
        if not found:
            return types, (), permanent
        chosen, somewhere = found[min(found, key=lambda each: self._domains[batch.number, each])]
        return chosen, tuple(zone for zone in zones if zone in somewhere), True

    def _open_zones(self, relaxation: _Relaxation, claim: _Claim, types: int, zones: _Zones) -> tuple[_Zones, bool]:
        """Return the zones that other pods allow, and whether the other zones stay excluded."""
        if self._placements is None:
            return zones, True
        found, permanent = [], True
        for zone in zones:
            node = claim.node(types, zone)
            reason = self._placements.why_not(relaxation.pod, node) or self._possible.why_not(relaxation.apart, node)
            if reason is None:
                found.append(zone)
            else:
                permanent = permanent and (relaxation.permanent or reason.cause is Cause.POD_ANTI_AFFINITY)
        return tuple(found), permanent

    def _put(self, batch: Batch, pod: Pod, claim: _Claim, fitting: _Fitting, *, opened: bool = False) -> None:
        claim.types, claim.zones, claim.used = fitting.types, fitting.zones, fitting.used
        claim.pods.append((batch, pod))
        if not opened:
            # Karpenter's stable sort by number of pods puts this node before those that had as many already.
            self._turn += 1
            claim.turn = -self._turn
        zone = claim.zones[0] if len(claim.zones) == 1 else None
        if domains := self._relaxations[batch.number][0].domains:
            self._domains[batch.number, claim.domain(claim.types, domains)] += 1
        if self._placements is not None and batch.counted:
            self._placements.place(pod, claim.node(claim.types, zone))
            self._place_in_all_domains(pod, claim)

    def _place_in_all_domains(self, pod: Pod, claim: _Claim) -> None:
        """Count a pod in all domains where its node can start: pods with anti-affinity to it avoid all of them."""
        type_sets = (
            [type_set & claim.types for type_set in claim.pool.type_sets if type_set & claim.types]
            if self._by_type_set
            else []
        )
        spots = [(types, zone) for types in type_sets or [claim.types] for zone in claim.zones]
        for types, zone in spots if len(spots) > 1 else ():
            self._possible.place(pod, claim.node(types, zone))

    def _explain(self, batch: Batch, relaxation: _Relaxation, offer: Offer, claim: _Claim) -> None:
        """Record why a pool that a pod can use adds no node for it."""
        pool, wanted = claim.pool, batch.sample.requests
        fitting_types = offer.types & pool.with_room_for(wanted)
        offered = fitting_types & pool.offerings.of(offer.zones)
        key = (batch.number, pool.plan.name)
        if not fitting_types:
            self._reasons.rejected[key] = "too large for its instance types, DaemonSets included"
        elif why := pool.offerings.why_none(fitting_types, offer.zones):
            self._reasons.rejected[key] = why
        elif not offered & claim.types:
            planned = self._counted[pool.plan.name] != self._capacity[pool.plan.name]
            text = pool.why_limited(wanted)
            self._reasons.rejected[key] = f"{text}{_COUNTED}" if planned and text.endswith(" reached") else text
        elif why := self._why_excluded(relaxation, claim, offered & claim.types, offer.zones):
            self._reasons.rejected[key] = why

    def _why_excluded(self, relaxation: _Relaxation, claim: _Claim, types: int, zones: _Zones) -> str | None:
        """Return why other pods keep a pod off a new node in every zone, or None."""
        if self._placements is None:
            return None
        reasons = {zone: self._placements.why_not(relaxation.pod, claim.node(types, zone)) for zone in zones}
        allowed = tuple(zone for zone in zones if reasons[zone] is None)
        offered = [zone for zone in zones if types & claim.pool.offerings.of((zone,))]
        # Where a zone is lost, another one says what keeps the pod off.
        reason = reasons[offered[0]]
        if reason is not None:
            return reason.text
        zone = self._emptiest(relaxation, claim, types, allowed) if relaxation.zonal else offered[0]
        if zone in offered:
            return None
        return f"topology spread: Karpenter takes the zone with the fewest pods, {zone}, where no nodes are available"

    def _launch(self) -> None:
        """Add the planned nodes, each of the type that is bought of those that hold its pods."""
        for claim in self._claims:
            index, zones = claim.pool.offerings.bought(claim.types, claim.zones)
            shape = claim.pool.shapes[index]
            name = claim.pool.plan.name
            zone = min(zones, key=lambda each: self._nodes.in_zone(name, each))
            made = self._nodes.make(name, shape, zone, instance_type=claim.pool.types[index].name)
            if not claim.pool.priced:
                made.architectures = claim.pool.architectures(claim.types)
            for batch, pod in claim.pods:
                self._nodes.put(batch, pod, made)
            self._capacity[name] += claim.pool.largest(1 << index)
