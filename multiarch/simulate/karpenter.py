"""Karpenter, simulated: which NodePool each waiting pod gets a node of, and how many nodes that makes.

Its rules: pods in order of size; each onto a node that is about to be made, the one with fewest pods first, whatever
pool made it; else a new node of the pool with the highest weight that the pod may use and whose limits leave room.
A node about to be made keeps every instance type that still holds its pods; which of them is bought is a matter of
prices, so the smallest is named here.
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
from multiarch.scheduling.resources import Resources
from multiarch.scheduling.topology import Placements
from multiarch.simulate.batches import domains_of
from multiarch.simulate.cluster_autoscaler import Reasons, Waiting
from multiarch.simulate.model import Batch
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.pools import Offer, Pool, first, relaxations

_Zones = tuple[str | None, ...]
_Domain = tuple[str | None, ...]
_COUNTED = " (a planned node counts as the largest type that it may become)"


@dataclass(slots=True, eq=False)
class _Claim:
    """A node that is about to be made, of the pool at ``place``. ``turn`` orders those with as many pods."""

    number: int
    place: int
    pool: Pool
    types: int
    zones: _Zones
    used: Resources
    turn: int
    pods: list[tuple[Batch, Pod]] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, int]:
        return len(self.pods), self.turn

    def node(self, types: int, zone: str | None) -> Node:
        """The node as it would be in a zone, for counts by host and zone. A zone is not settled at first."""
        host = f"claim-{self.number}"
        index = first(types)
        return self.pool.planned_node(index, f"{host} {index} {zone}", zone, host)

    def domain(self, types: int, keys: Sequence[str]) -> _Domain:
        """The values that the node has for some labels."""
        labels = self.pool.planned(first(types))
        return tuple(labels.get(key) for key in keys)


@dataclass(slots=True)
class _Ask:
    """One way in which Karpenter asks for a batch's pods, with what each pool offers for it.

    ``apart`` is the pod with no rules about others but those that keep them apart. ``zonal``: its node has to be in one
    zone for the sake of its rules; ``domains``: labels other than zones by which it is spread or wants to be near
    others; ``by_kind``: it has rules about such labels, those that keep pods apart included;
    ``lasting``: what other pods forbid it today stays forbidden.
    """

    pod: Pod
    apart: Pod
    offers: list[Offer | None]
    zonal: bool
    domains: tuple[str, ...]
    by_kind: bool
    lasting: bool
    heap: list[tuple[tuple[int, int], int]] = field(default_factory=list)
    seen: int = 0


@dataclass(frozen=True, slots=True)
class _Fitting:
    types: int
    zones: _Zones
    used: Resources


class Karpenter:
    """One round after the other: Karpenter plans nodes for all waiting pods, they come up, and the rest wait again."""

    def __init__(self, pools: Sequence[Pool], nodes: Nodes, reasons: Reasons) -> None:
        """``pools`` are sorted, the highest weight first."""
        self._pools = pools
        self._nodes = nodes
        self._reasons = reasons
        self._capacity: dict[str, Resources] = {pool.plan.name: Resources() for pool in pools}
        self._asks: dict[int, list[_Ask]] = {}
        self._by_kind = False
        self._wishes = any(taint.effect is Effect.PREFER_NO_SCHEDULE for pool in pools for taint in pool.plan.taints)
        self._start()

    def _start(self) -> None:
        """Begin a round: limits as they are, no node planned, pods counted where they are."""
        self._claims: list[_Claim] = []
        self._turn = 0
        # What counts against limits: nodes that came up, and those that are planned.
        self._counted = dict(self._capacity)
        self._tally: Counter[tuple[int, str | None]] = Counter()
        self._domains: Counter[tuple[int, _Domain]] = Counter()
        self._placements: Placements | None = None
        self._possible = Placements()
        for asks in self._asks.values():
            for ask in asks:
                ask.heap, ask.seen = [], 0
        if self._nodes.ruled:
            self._placements = Placements()
            self._nodes.replay(self._placements)
            for pool in self._pools:
                for number, kind in enumerate(pool.kinds):
                    for zone in pool.zones or (None,):
                        # A node that stays empty: each zone can be used, and there is always one more host.
                        name = f"{pool.plan.name} {number} {zone}"
                        self._placements.add(pool.planned_node(first(kind), name, zone, name))

    def run(self, waiting: Waiting) -> None:
        """Make nodes for ``waiting`` pods until no more can be made, and take placed pods out of it."""
        while waiting:
            self._start()
            placed = self._round(waiting)
            if not self._claims:
                return
            self._launch()
            for batch in list(waiting):
                left = [pod for pod in waiting[batch] if id(pod) not in placed]
                waiting[batch] = [pod for pod in left if self._nodes.bind(batch, pod) is None]
                if not waiting[batch]:
                    del waiting[batch]

    def _round(self, waiting: Waiting) -> set[int]:
        """Plan nodes for one batch of pods, the largest first, again while that helps any that were passed over.

        Returns the identities of pods that were placed.
        """
        placed: set[int] = set()
        for batch in waiting:
            self._asks_of(batch)
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
                # For those that wait for others there is something new; for the rest nothing ever gets better.
                failed = {number for number in failed if self._lasting(number)}
                continue
            failed.add(batch.number)
            if not self._lasting(batch.number):
                queue.append((batch, pod))
                passed += 1
        return placed

    def _lasting(self, number: int) -> bool:
        """Whether a batch that found no place finds none in this round whatever comes after."""
        return all(ask.lasting for ask in self._asks[number])

    def _asks_of(self, batch: Batch) -> list[_Ask]:
        if batch.number not in self._asks:
            asks = []
            for spec, shuns in relaxations(batch.sample.spec, wishes_on_taints=self._wishes):
                spread = {each.topology_key for each in spec.spread} - {HOSTNAME}
                lasting = not (spec.pod_affinity or spread)
                offers = [pool.offer(spec, shuns_wishes=shuns) for pool in self._pools]
                pod = replace(batch.sample, spec=spec)
                apart = replace(pod, spec=replace(spec, spread=(), pod_affinity=()))
                domains = tuple(sorted(set(domains_of(replace(spec, pod_anti_affinity=())))))
                by_kind = any(domains_of(apart.spec))
                self._by_kind = self._by_kind or by_kind
                keys = (
                    *(rule.topology_key for rule in spec.spread),
                    *(term.topology_key for term in spec.pod_affinity),
                )
                zonal = ZONE in keys
                asks.append(_Ask(pod, apart, offers, zonal, domains, by_kind or bool(domains), lasting))
            self._asks[batch.number] = asks
        return self._asks[batch.number]

    def _add(self, batch: Batch, pod: Pod) -> bool:
        """Place one pod: in each way of asking, on a planned node, else on a new one."""
        return any(self._join(batch, pod, ask) or self._open(batch, pod, ask) for ask in self._asks_of(batch))

    def _join(self, batch: Batch, pod: Pod, ask: _Ask) -> bool:
        for claim in self._claims[ask.seen :]:
            heapq.heappush(ask.heap, (claim.key, claim.number))
        ask.seen = len(self._claims)
        aside = []
        joined = False
        while ask.heap and not joined:
            key, number = ask.heap[0]
            claim = self._claims[number]
            if key != claim.key:
                heapq.heapreplace(ask.heap, (claim.key, number))
                continue
            fitting, lasting = self._fitting(batch, ask, claim)
            if fitting is not None:
                self._put(batch, pod, claim, fitting)
                joined = True
                continue
            taken = heapq.heappop(ask.heap)
            if not lasting:
                aside.append(taken)
        for entry in aside:
            heapq.heappush(ask.heap, entry)
        return joined

    def _open(self, batch: Batch, pod: Pod, ask: _Ask) -> bool:
        for place, pool in enumerate(self._pools):
            offer = ask.offers[place]
            if offer is None:
                continue
            name = pool.plan.name
            types = pool.within(self._counted[name])
            claim = _Claim(len(self._claims), place, pool, types, pool.zones or (None,), Resources(), 0)
            fitting, _ = self._fitting(batch, ask, claim)
            if fitting is None:
                self._explain(batch, ask, offer, claim)
                continue
            self._turn += 1
            claim.turn = self._turn
            self._claims.append(claim)
            self._put(batch, pod, claim, fitting, opened=True)
            # Any of the types might be bought, so the largest is counted until one is.
            self._counted[name] += pool.largest(fitting.types)
            return True
        return False

    def _fitting(self, batch: Batch, ask: _Ask, claim: _Claim) -> tuple[_Fitting | None, bool]:
        """What is left of a planned node's choices with one more pod, or None and whether that is for good."""
        offer = ask.offers[claim.place]
        if offer is None:
            return None, True
        types = claim.types & offer.types
        zones = claim.zones if claim.zones == offer.zones else tuple(z for z in claim.zones if z in offer.zones)
        if not types or not zones:
            return None, True
        used = claim.used + batch.sample.requests
        types &= claim.pool.roomy(used)
        if not types:
            return None, True
        if not batch.ruled and not self._nodes.repelling:
            return _Fitting(types, zones, used), True
        types, open_zones, lasting = self._open_domains(batch, ask, claim, types, zones)
        if not open_zones:
            return None, lasting
        if ask.zonal:
            open_zones = (min(open_zones, key=lambda zone: self._tally[batch.number, zone]),)
        return _Fitting(types, open_zones, used), True

    def _open_domains(
        self, batch: Batch, ask: _Ask, claim: _Claim, types: int, zones: _Zones
    ) -> tuple[int, _Zones, bool]:
        """What other pods leave open: types and zones; of domains to spread over or to be in the emptiest."""
        if not ask.by_kind:
            return types, *self._open_zones(ask, claim, types, zones)
        # Without labels to spread over or to be near others by, all kinds are one domain.
        found: dict[_Domain, tuple[int, set[str | None]]] = {}
        lasting = True
        for kind in claim.pool.kinds:
            if kind & types:
                open_zones, for_good = self._open_zones(ask, claim, kind & types, zones)
                lasting = lasting and for_good
                if open_zones:
                    domain = claim.domain(kind & types, ask.domains)
                    others, there = found.get(domain, (0, set()))
                    found[domain] = (others | kind & types, there | set(open_zones))
        if not found:
            return types, (), lasting
        chosen, somewhere = found[min(found, key=lambda each: self._domains[batch.number, each])]
        return chosen, tuple(zone for zone in zones if zone in somewhere), True

    def _open_zones(self, ask: _Ask, claim: _Claim, types: int, zones: _Zones) -> tuple[_Zones, bool]:
        """The zones that other pods leave open, and whether those that they don't stay closed."""
        if self._placements is None:
            return zones, True
        found, lasting = [], True
        for zone in zones:
            node = claim.node(types, zone)
            reason = self._placements.why_not(ask.pod, node) or self._possible.why_not(ask.apart, node)
            if reason is None:
                found.append(zone)
            else:
                lasting = lasting and (ask.lasting or reason.cause is Cause.POD_ANTI_AFFINITY)
        return tuple(found), lasting

    def _put(self, batch: Batch, pod: Pod, claim: _Claim, fitting: _Fitting, *, opened: bool = False) -> None:
        claim.types, claim.zones, claim.used = fitting.types, fitting.zones, fitting.used
        claim.pods.append((batch, pod))
        if not opened:
            # Karpenter sorts by the number of pods and keeps the order of equals: this one comes before its new equals.
            self._turn += 1
            claim.turn = -self._turn
        zone = claim.zones[0] if len(claim.zones) == 1 else None
        self._tally[batch.number, zone] += 1
        if domains := self._asks[batch.number][0].domains:
            self._domains[batch.number, claim.domain(claim.types, domains)] += 1
        if self._placements is not None and batch.counted:
            self._placements.place(pod, claim.node(claim.types, zone))
            self._place_wherever(pod, claim)

    def _place_wherever(self, pod: Pod, claim: _Claim) -> None:
        """Count a pod in all domains that its node might come up in: others that avoid it stay out of all."""
        kinds = [kind & claim.types for kind in claim.pool.kinds if kind & claim.types] if self._by_kind else []
        spots = [(types, zone) for types in kinds or [claim.types] for zone in claim.zones]
        for types, zone in spots if len(spots) > 1 else ():
            self._possible.place(pod, claim.node(types, zone))

    def _explain(self, batch: Batch, ask: _Ask, offer: Offer, claim: _Claim) -> None:
        """Record why a pool that a pod may use makes no node for it."""
        pool, wanted = claim.pool, batch.sample.requests
        roomy = offer.types & pool.roomy(wanted)
        key = (batch.number, pool.plan.name)
        if not roomy:
            self._reasons[key] = "too large for its instance types beside DaemonSets"
        elif not roomy & claim.types:
            planned = self._counted[pool.plan.name] != self._capacity[pool.plan.name]
            said = pool.limits_in_words(wanted)
            self._reasons[key] = f"{said}{_COUNTED}" if planned and said.endswith(" reached") else said
        elif self._placements is not None:
            zone = next(iter(offer.zones))
            reason = self._placements.why_not(ask.pod, claim.node(roomy & claim.types, zone))
            if reason is not None:
                self._reasons[key] = reason.text

    def _launch(self) -> None:
        """Make the planned nodes, each of the smallest type that holds its pods."""
        for claim in self._claims:
            index = first(claim.types)
            shape = claim.pool.shapes[index]
            name = claim.pool.plan.name
            zone = min(claim.zones, key=lambda each: self._nodes.in_zone(name, each))
            made = self._nodes.make(name, shape, new=True, zone=zone, instance_type=claim.pool.types[index].name)
            made.architectures = claim.pool.architectures(claim.types)
            for batch, pod in claim.pods:
                self._nodes.put(batch, pod, made)
            self._capacity[name] += claim.pool.largest(1 << index)
