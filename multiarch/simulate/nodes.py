"""The nodes of a simulation and the pods on them: which have room, and where kube-scheduler would bind a pod."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import HOSTNAME, ZONE
from multiarch.facts.taints import Effect, Taint
from multiarch.facts.tolerations import Toleration
from multiarch.scheduling.fit import explain_never, runs_on, sum_daemon_overhead
from multiarch.scheduling.nodes import Node, NodeShape
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause, PlacementReason
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.scheduling.scores import Candidate, score_balance, score_candidates, score_free
from multiarch.scheduling.topology import Placements
from multiarch.simulate.batches import (
    Counted,
    has_host_rule,
    list_attracting_terms,
    list_repelling_terms,
    list_terms,
    list_topology_keys,
    list_used_labels,
)
from multiarch.simulate.model import Batch
from multiarch.simulate.settled import NodeState
from multiarch.simulate.soft_rules import PodsByController, SoftRules

_Entry = tuple[int, int]
_Domain = tuple[str | None, ...]
_Class = tuple[_Domain, int, int, tuple[int, ...]]
_PERMANENT = frozenset((Cause.POD_ANTI_AFFINITY,))
"""No pod leaves its node here, so anti-affinity excludes a node for good; spread constraints and affinity may not."""


@dataclass(slots=True, eq=False)
class SimNode:
    """A node and its free resources. ``architectures`` are those that it can have once it is bought.

    ``given`` is the node as it was before, None for a new one; ``placed`` are pods that it got since. ``assumed`` is
    what kube-scheduler's scores count besides for containers without requests.
    """

    number: int
    group: str
    shape: NodeShape
    node: Node
    zone: str | None
    free: ResourceAmounts
    architectures: tuple[Architecture, ...]
    instance_type: str
    assumed: ResourceAmounts
    given: NodeState | None = None
    placed: list[Pod] = field(default_factory=list)

    @property
    def new(self) -> bool:
        """Whether an autoscaler added it."""
        return self.given is None

    @property
    def all_pods(self) -> tuple[Pod, ...]:
        """The pods on it, those of DaemonSets aside."""
        return (*(self.given.pods if self.given else ()), *self.placed)

    @property
    def pods(self) -> int:
        """The number of pods on it, those of DaemonSets aside."""
        return len(self.placed) + (len(self.given.pods) if self.given else 0)

    def assume(self, pod: Pod) -> None:
        """Count for scores what a pod that comes here does not request."""
        more = pod.spec.assumed
        if more.cpu or more.memory:
            self.assumed += more

    def fullness(self, spec: PodSpec) -> int:
        """Return how full the node is with one more pod, as kube-scheduler scores free resources: -100 to 0."""
        return -score_free(self.shape.allocatable, self.free, self.assumed, spec)


@dataclass(slots=True)
class _Queue:
    """Nodes that may still take a pod of one batch, the emptiest first, by what else matters to the pods.

    ``seen`` counts the nodes that were considered.
    """

    heaps: dict[_Class, list[_Entry]] = field(default_factory=dict)
    seen: int = 0


class Nodes:
    """All nodes. A pod that does not fit a node never will, so each pair is considered once.

    An autoscaler plans new nodes by its own rules and adds them here once they are settled.
    """

    def __init__(self, batches: Sequence[Batch], daemons: Sequence[Pod], given: Sequence[NodeState] = ()) -> None:
        """Start with ``given`` nodes. ``daemons`` are reserved on every node that they may run on.

        Raises ValueError for two nodes of one name.
        """
        self.all: list[SimNode] = []
        self.where: dict[int, list[tuple[Pod, SimNode]]] = {batch.number: [] for batch in batches}
        self.placements = Placements()
        self._daemons = tuple(daemons)
        self._overhead: dict[NodeShape, ResourceAmounts] = {}
        self._assumed: dict[NodeShape, ResourceAmounts] = {}
        self._batches = {batch.number: batch for batch in batches}
        before = _with_terms(given)
        samples = [batch.sample for batch in batches]
        self.pod_rules = bool(before) or any(batch.depends_on_pods for batch in batches)
        self.pod_anti_affinity = any(pod.spec.pod_anti_affinity for pod in (*samples, *before))
        self.host_rules = any(has_host_rule(pod.spec) for pod in (*samples, *before))
        keys = {key for pod in (*samples, *before) for key in list_topology_keys(pod.spec)}
        self._domain_keys = tuple(sorted({ZONE, *keys}))
        repelled = Counted((*samples, *before), list_repelling_terms)
        self._with_rules = {batch.number for batch in batches if batch.depends_on_pods or repelled(batch.sample)}
        self._queues: dict[int, _Queue] = {batch.number: _Queue() for batch in batches}
        self._names: set[str] = set()
        self._by_group: defaultdict[str, list[SimNode]] = defaultdict(list)
        self._zones: Counter[tuple[str, str | None]] = Counter()
        self._newest_zones: defaultdict[str, list[str | None]] = defaultdict(list)
        self._counted_before: list[tuple[Pod, SimNode]] = []
        self._counted = Counted(samples)
        self._by_controller = PodsByController(samples)
        terms = dict.fromkeys(term for pod in (*samples, *before) for term in list_attracting_terms(pod))
        self.soft = {
            batch.number: SoftRules(batch.sample, terms, self.placements, self._by_controller) for batch in batches
        }
        for state in given:
            if state.name in self._names:
                raise ValueError(f"two nodes are called {state.name}")
            self._names.add(state.name)
            self._take(state)

    def counts(self, pod: Pod) -> bool:
        """Return whether ``placements`` counts a pod: it has rules about other pods, or a rule selects it."""
        return self.pod_rules and (bool(list_terms(pod.spec)) or self._counted(pod))

    def overhead(self, shape: NodeShape) -> ResourceAmounts:
        """Return what DaemonSets request on a node."""
        if shape not in self._overhead:
            self._overhead[shape] = sum_daemon_overhead(self._daemons, shape)
        return self._overhead[shape]

    def _assumed_of_daemons(self, shape: NodeShape) -> ResourceAmounts:
        if shape not in self._assumed:
            there = (each.spec.assumed for each in self._daemons if each.per_node and runs_on(each, shape))
            self._assumed[shape] = sum(there, ResourceAmounts())
        return self._assumed[shape]

    def next_zone(self, group: str, zones: Sequence[str | None]) -> str | None:
        """Return the zone of an Auto Scaling Group's next node: the group keeps its zones balanced."""
        return min(zones, key=lambda zone: self._zones[group, zone])

    def make(self, group: str, shape: NodeShape, zone: str | None, *, instance_type: str) -> SimNode:
        """Add a new node in ``zone`` that runs only DaemonSets."""
        number = self.count(group) + 1
        while (name := f"{group}-{number}") in self._names:
            number += 1
        self._names.add(name)
        return self._add(group, shape, name, zone, shape.allocatable - self.overhead(shape), instance_type)

    def _take(self, state: NodeState) -> None:
        free = ResourceAmounts()
        if state.shape.allocatable != free:
            free = state.shape.allocatable - self.overhead(state.shape)
            for pod in state.pods:
                free -= pod.requests
        made = self._add(state.group, state.shape, state.name, state.zone, free, state.instance_type, state)
        for pod in state.pods:
            made.assume(pod)
            self._by_controller.place(pod, made.node)
            if self.counts(pod):
                self.placements.place(pod, made.node)
                self._counted_before.append((pod, made))

    def _add(
        self,
        group: str,
        shape: NodeShape,
        name: str,
        zone: str | None,
        free: ResourceAmounts,
        instance_type: str,
        given: NodeState | None = None,
    ) -> SimNode:
        node = shape.node(name, zone)
        assumed = self._assumed_of_daemons(shape)
        made = SimNode(
            len(self.all), group, shape, node, zone, free, (shape.architecture,), instance_type, assumed, given
        )
        self.all.append(made)
        self._by_group[group].append(made)
        self._zones[group, zone] += 1
        newest = self._newest_zones[group]
        if newest[:1] != [zone]:
            newest[:] = [zone, *(each for each in newest if each != zone)]
        if self.pod_rules:
            self.placements.add(node)
        return made

    def count(self, group: str) -> int:
        """Return the number of nodes of a group."""
        return len(self._by_group[group])

    def of_group(self, group: str) -> Sequence[SimNode]:
        """Return the nodes of a group, the oldest first."""
        return self._by_group[group]

    def zones(self, group: str) -> Sequence[str | None]:
        """Return the zones of a group's nodes, each once, that of the newest node first."""
        return self._newest_zones[group]

    def find_alike(self, group: str, shape: NodeShape, zone: str | None) -> Node | None:
        """Return a node of a group that, to rules about other pods, is like a new one in ``zone``; None for none."""
        if self.host_rules:
            return None
        return next((each.node for each in self._by_group[group] if each.zone == zone and each.shape == shape), None)

    def in_zone(self, group: str, zone: str | None) -> int:
        """Return the number of nodes of a group in a zone."""
        return self._zones[group, zone]

    def replay(self, placements: Placements) -> None:
        """Add all nodes and pods to ``placements``."""
        for node in self.all:
            placements.add(node.node)
        for pod, node in self._counted_before:
            placements.place(pod, node.node)
        for number, places in self.where.items():
            batch = self._batches[number]
            for _, node in places if batch.counted else ():
                placements.place(batch.sample, node.node)

    def put(self, batch: Batch, pod: Pod, node: SimNode) -> None:
        """Place a pod without checking that it fits."""
        node.free -= pod.requests
        node.assume(pod)
        node.placed.append(pod)
        self._by_controller.place(pod, node.node)
        self.where[batch.number].append((pod, node))
        if self.pod_rules and batch.counted:
            self.placements.place(pod, node.node)

    def has_rules(self, batch: Batch) -> bool:
        """Return whether other pods can keep a batch's pods off a node."""
        return batch.number in self._with_rules

    def domain(self, node: Node) -> _Domain:
        """Return what other pods' places depend on, without the host name: nodes that agree in it are alike to rules.

        They must be nodes that the pod's node affinity and tolerations allow.
        """
        return tuple([node.labels.get(key) for key in self._domain_keys])

    def why_not(self, batch: Batch, node: Node) -> PlacementReason | None:
        """Return why other pods keep a batch's pods off a node, or None."""
        return self.placements.why_not(batch.sample, node) if batch.number in self._with_rules else None

    def bind_all(self, batch: Batch, pods: Sequence[Pod]) -> list[Pod]:
        """Place pods of one batch like :meth:`bind`, and return those that no node has room for."""
        for done, pod in enumerate(pods):
            # The pods request the same: where one finds no node, the next one does not either.
            if self.bind(batch, pod) is None:
                return list(pods[done:])
        return []

    def bind(self, batch: Batch, pod: Pod) -> SimNode | None:
        """Place a pod on the node that kube-scheduler prefers among those with room, or return None.

        Of nodes with the same score the oldest gets it. Of nodes that differ in nothing but how full they are, only the
        emptiest is looked at.
        """
        queue = self._queues[batch.number]
        self._consider_new(batch, queue)
        heads = self._heads(batch, queue)
        if not heads:
            return None
        found = heads[0][1] if len(heads) == 1 else self._best(batch, queue, heads)
        self.put(batch, pod, found)
        return found

    def _best(self, batch: Batch, queue: _Queue, heads: Sequence[tuple[_Class, SimNode]]) -> SimNode:
        candidates = [self.candidate(batch, node) for _, node in heads]
        able = sum(map(len, queue.heaps.values()))
        found = zip(
            score_candidates(candidates, self.soft[batch.number].spread, able), (node for _, node in heads), strict=True
        )
        return min(found, key=lambda each: (-each[0], each[1].number))[1]

    def candidate(self, batch: Batch, node: SimNode) -> Candidate:
        """Return what kube-scheduler's scores look at, for a pod of a batch on a node."""
        soft = self.soft[batch.number]
        preference, untolerated = self._preference(batch.sample, node)
        return Candidate(
            preference=preference,
            untolerated=untolerated,
            resources=score_balance(node.shape.allocatable, node.free, batch.sample.requests)
            - node.fullness(batch.sample.spec),
            spread=soft.spread_counts(node.node),
            attraction=soft.attraction(node.node),
        )

    @staticmethod
    def _preference(sample: Pod, node: SimNode) -> tuple[int, int]:
        """The weights of the preferred node affinity that a node meets, and how many soft taints are not tolerated."""
        spec = sample.spec
        preference = spec.affinity.score(node.node.labels) if spec.affinity.preferred else 0
        return preference, count_untolerated_preferences(spec.tolerations, node.shape.taints)

    def _heads(self, batch: Batch, queue: _Queue) -> list[tuple[_Class, SimNode]]:
        """Return the emptiest node of each class that can take a pod. Nodes that never take another one are dropped."""
        found: dict[_Class, SimNode] = {}
        left = list(queue.heaps)
        while left:
            kind = left.pop()
            node = self._head(batch, kind, queue, left) if kind in queue.heaps else None
            if node is not None:
                found[kind] = node
        return list(found.items())

    def _head(self, batch: Batch, kind: _Class, queue: _Queue, left: list[_Class]) -> SimNode | None:
        """Return the same for one class. Classes that get nodes from it are added to ``left``."""
        soft = self.soft[batch.number]
        heap = queue.heaps[kind]
        aside: list[_Entry] = []
        found = None
        while heap and found is None:
            fullness, number = heap[0]
            node = self.all[number]
            if fullness != (now := node.fullness(batch.sample.spec)):
                heapq.heapreplace(heap, (now, number))
            elif not node.free.covers(batch.sample.requests):
                heapq.heappop(heap)
            elif soft.by_host and (other := (*kind[:3], soft.host_counts(node.node))) != kind:
                heapq.heappush(queue.heaps.setdefault(other, []), heapq.heappop(heap))
                left.append(other)
            elif (reason := self.why_not(batch, node.node)) is None:
                found = node
            elif not self.host_rules:
                break  # it holds for the whole domain
            else:
                taken = heapq.heappop(heap)
                if reason.cause not in _PERMANENT:
                    aside.append(taken)
        for entry in aside:
            heapq.heappush(heap, entry)
        if not heap:
            del queue.heaps[kind]
        return found

    def _consider_new(self, batch: Batch, queue: _Queue) -> None:
        """Add the nodes with room that were made since the last call to the queue. No node gets more room later."""
        if queue.seen == len(self.all):
            return
        sample, soft = batch.sample, self.soft[batch.number]
        by_domain = self.has_rules(batch) or soft.any
        by_host = HOSTNAME in list_used_labels(sample.spec)
        judged: dict[tuple[NodeShape, str | None, str], tuple[int, int] | None] = {}
        for node in islice(self.all, queue.seen, None):
            if not node.free.covers(sample.requests):
                continue
            alike = (node.shape, node.zone, node.node.name if by_host else "")
            if alike not in judged:
                able = explain_never(sample.spec, node.shape) is None and sample.spec.affinity.allows(node.node.labels)
                judged[alike] = self._preference(sample, node) if able else None
            if (preference := judged[alike]) is not None:
                domain = self.domain(node.node) if by_domain else ()
                kind = (domain, *preference, soft.host_counts(node.node))
                heapq.heappush(queue.heaps.setdefault(kind, []), (node.fullness(sample.spec), node.number))
        queue.seen = len(self.all)


def _with_terms(given: Iterable[NodeState]) -> list[Pod]:
    """Return one of the given pods for each kind that has rules about other pods."""
    found = {
        (pod.namespace, pod.labels, pod.spec): pod for state in given for pod in state.pods if list_terms(pod.spec)
    }
    return list(found.values())


def count_untolerated_preferences(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> int:
    """Return how many ``PreferNoSchedule`` taints a pod does not tolerate."""
    soft = [taint for taint in taints if taint.effect is Effect.PREFER_NO_SCHEDULE]
    return sum(not any(each.tolerates(taint) for each in tolerations) for taint in soft)
