"""The nodes of a simulation and the pods on them: which have room, and where kube-scheduler would bind a pod."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import HOSTNAME
from multiarch.facts.taints import Effect, Taint
from multiarch.facts.tolerations import Toleration
from multiarch.scheduling.fit import Fit, daemon_overhead
from multiarch.scheduling.nodes import Node, NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause, Reason
from multiarch.scheduling.resources import Resources
from multiarch.scheduling.topology import Placements
from multiarch.simulate.batches import Counted, has_host_rule, mentioned, topology_keys
from multiarch.simulate.model import Batch
from multiarch.simulate.settled import NodeState

_Key = tuple[int, int, float]
_Entry = tuple[_Key, int]
_Domain = tuple[str | None, ...]
_PERMANENT = frozenset((Cause.POD_ANTI_AFFINITY,))
"""No pod leaves its node here, so anti-affinity excludes a node for good; spread constraints and affinity may not."""


@dataclass(slots=True, eq=False)
class SimNode:
    """A node and its free resources. ``architectures`` are those that it can have once it is bought.

    ``given`` is the node as it was before, None for a new one; ``placed`` are pods that it got since.
    """

    number: int
    group: str
    shape: NodeShape
    node: Node
    zone: str | None
    free: Resources
    architectures: tuple[Architecture, ...]
    instance_type: str
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

    @property
    def used(self) -> float:
        """The used shares of CPU and memory, added up: 0 to 2."""
        whole = self.shape.allocatable
        return 2 - self.free.cpu / max(whole.cpu, 1) - self.free.memory / max(whole.memory, 1)


@dataclass(slots=True)
class _Queue:
    """Nodes that may still take a pod of one batch, best first, by topology domain.

    ``seen`` counts the nodes that were considered. Pods without rules about others know one domain only.
    """

    heaps: dict[_Domain, list[_Entry]] = field(default_factory=dict)
    seen: int = 0


class Nodes:
    """All nodes. A pod that does not fit a node never will, so each pair is considered once.

    An autoscaler plans new nodes by its own rules and adds them here once they are settled.
    """

    def __init__(
        self, batches: Sequence[Batch], daemons: Sequence[Pod], fit: Fit, given: Sequence[NodeState] = ()
    ) -> None:
        """Start with ``given`` nodes. ``daemons`` are reserved on every node that they may run on.

        Raises ValueError for two nodes of one name.
        """
        self.all: list[SimNode] = []
        self.where: dict[int, list[tuple[Pod, SimNode]]] = {batch.number: [] for batch in batches}
        self.placements = Placements()
        self.fit = fit
        self._daemons = tuple(daemons)
        self._overhead: dict[NodeShape, Resources] = {}
        self._batches = {batch.number: batch for batch in batches}
        before = _keeping_apart(given)
        samples = [batch.sample for batch in batches]
        self.pod_rules = bool(before) or any(batch.depends_on_pods for batch in batches)
        self.pod_anti_affinity = bool(before) or any(sample.spec.pod_anti_affinity for sample in samples)
        self.host_rules = any(has_host_rule(pod.spec) for pod in (*samples, *before))
        self._domain_keys = tuple(sorted({key for pod in (*samples, *before) for key in topology_keys(pod.spec)}))
        repelled = Counted((pod for pod in (*samples, *before) if pod.spec.pod_anti_affinity), anti_affinity=True)
        self._with_rules = {batch.number for batch in batches if batch.depends_on_pods or repelled(batch.sample)}
        self._queues: dict[int, _Queue] = {batch.number: _Queue() for batch in batches}
        self._names: set[str] = set()
        self._by_group: defaultdict[str, list[SimNode]] = defaultdict(list)
        self._zones: Counter[tuple[str, str | None]] = Counter()
        self._newest_zones: defaultdict[str, list[str | None]] = defaultdict(list)
        self._counted_before: list[tuple[Pod, SimNode]] = []
        self._counted = Counted(samples)
        for state in given:
            if state.name in self._names:
                raise ValueError(f"two nodes are called {state.name}")
            self._names.add(state.name)
            self._take(state)

    def counts(self, pod: Pod) -> bool:
        """Whether ``placements`` counts a pod: it keeps others away, or a rule selects it."""
        return self.pod_rules and (bool(pod.spec.pod_anti_affinity) or self._counted(pod))

    def overhead(self, shape: NodeShape) -> Resources:
        """What DaemonSets request on a node."""
        if shape not in self._overhead:
            self._overhead[shape] = daemon_overhead(self._daemons, shape)
        return self._overhead[shape]

    def next_zone(self, group: str, zones: Sequence[str | None]) -> str | None:
        """The zone of an Auto Scaling Group's next node: the group keeps its zones balanced."""
        return min(zones, key=lambda zone: self._zones[group, zone])

    def make(self, group: str, shape: NodeShape, zone: str | None, *, instance_type: str) -> SimNode:
        """Add a new node in ``zone`` that runs only DaemonSets."""
        number = self.count(group) + 1
        while (name := f"{group}-{number}") in self._names:
            number += 1
        self._names.add(name)
        return self._add(group, shape, name, zone, shape.allocatable - self.overhead(shape), instance_type)

    def _take(self, state: NodeState) -> None:
        free = Resources()
        if state.shape.allocatable != free:
            free = state.shape.allocatable - self.overhead(state.shape)
            for pod in state.pods:
                free -= pod.requests
        made = self._add(state.group, state.shape, state.name, state.zone, free, state.instance_type, state)
        for pod in state.pods:
            if self.counts(pod):
                self.placements.place(pod, made.node)
                self._counted_before.append((pod, made))

    def _add(
        self,
        group: str,
        shape: NodeShape,
        name: str,
        zone: str | None,
        free: Resources,
        instance_type: str,
        given: NodeState | None = None,
    ) -> SimNode:
        node = shape.node(name, zone)
        made = SimNode(len(self.all), group, shape, node, zone, free, (shape.architecture,), instance_type, given)
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
        """The number of nodes of a group."""
        return len(self._by_group[group])

    def of_group(self, group: str) -> Sequence[SimNode]:
        """The nodes of a group, the oldest first."""
        return self._by_group[group]

    def zones(self, group: str) -> Sequence[str | None]:
        """The zones of a group's nodes, each once, that of the newest node first."""
        return self._newest_zones[group]

    def in_zone(self, group: str, zone: str | None) -> int:
        """The number of nodes of a group in a zone."""
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
        node.placed.append(pod)
        self.where[batch.number].append((pod, node))
        if self.pod_rules and batch.counted:
            self.placements.place(pod, node.node)

    def has_rules(self, batch: Batch) -> bool:
        """Whether other pods can keep a batch's pods off a node."""
        return batch.number in self._with_rules

    def domain(self, node: Node) -> _Domain:
        """What other pods' places depend on, the host name aside: nodes that agree in it are alike to a pod's rules.

        They must be nodes that the pod's node affinity and tolerations allow.
        """
        return tuple([node.labels.get(key) for key in self._domain_keys])

    def why_not(self, batch: Batch, node: Node) -> Reason | None:
        """Why other pods keep a batch's pods off a node, or None."""
        return self.placements.why_not(batch.sample, node) if batch.number in self._with_rules else None

    def bind_all(self, batch: Batch, pods: Sequence[Pod]) -> list[Pod]:
        """Place pods of one batch like :meth:`bind`, and return those that no node has room for."""
        for done, pod in enumerate(pods):
            # The pods ask for the same: where one finds no node, the next one does not either.
            if self.bind(batch, pod) is None:
                return list(pods[done:])
        return []

    def bind(self, batch: Batch, pod: Pod) -> SimNode | None:
        """Place a pod on the node that kube-scheduler prefers among those with room, or return None.

        Preferred node affinity and ``PreferNoSchedule`` come first, then the emptier node, then the older.
        """
        queue = self._queues[batch.number]
        self._consider_new(batch, queue)
        best = min(
            (entry for heap in queue.heaps.values() if (entry := self._best(batch, heap)) is not None), default=None
        )
        if best is None:
            return None
        found = self.all[best[1]]
        self.put(batch, pod, found)
        return found

    def _best(self, batch: Batch, heap: list[_Entry]) -> _Entry | None:
        """The best node of one domain, with its key. Nodes that never take another pod of the batch are dropped."""
        aside: list[_Entry] = []
        found = None
        while heap and found is None:
            (preference, unwanted, used), number = heap[0]
            node = self.all[number]
            if used != node.used:
                heapq.heapreplace(heap, ((preference, unwanted, node.used), number))
            elif not node.free.covers(batch.sample.requests):
                heapq.heappop(heap)
            elif (reason := self.why_not(batch, node.node)) is None:
                found = heap[0]
            elif not self.host_rules:
                break  # it holds for the whole domain
            else:
                taken = heapq.heappop(heap)
                if reason.cause not in _PERMANENT:
                    aside.append(taken)
        for entry in aside:
            heapq.heappush(heap, entry)
        return found

    def _consider_new(self, batch: Batch, queue: _Queue) -> None:
        """Add the nodes with room that were made since the last call to the queue. No node gets more room later."""
        sample, has_rules = batch.sample, self.has_rules(batch)
        by_host = HOSTNAME in mentioned(sample.spec)
        judged: dict[tuple[NodeShape, str | None, str], tuple[int, int] | None] = {}
        for node in islice(self.all, queue.seen, None):
            if not node.free.covers(sample.requests):
                continue
            alike = (node.shape, node.zone, node.node.name if by_host else "")
            if alike not in judged:
                judged[alike] = self._preference(sample, node)
            if (preference := judged[alike]) is not None:
                heap = queue.heaps.setdefault(self.domain(node.node) if has_rules else (), [])
                heapq.heappush(heap, ((*preference, node.used), node.number))
        queue.seen = len(self.all)

    def _preference(self, pod: Pod, node: SimNode) -> tuple[int, int] | None:
        """How much a pod prefers a node, less is better, or None where it can't be on any node alike."""
        if self.fit.why_never(pod, node.shape) is not None or not pod.spec.affinity.allows(node.node.labels):
            return None
        score = pod.spec.affinity.score(node.node.labels) if pod.spec.affinity.preferred else 0
        return -score, untolerated_preferences(pod.spec.tolerations, node.shape.taints)


def _keeping_apart(given: Iterable[NodeState]) -> list[Pod]:
    """One of the given pods for each required anti-affinity that keeps others away."""
    found = {
        (pod.namespace, pod.labels, pod.spec): pod
        for state in given
        for pod in state.pods
        if pod.spec.pod_anti_affinity
    }
    return list(found.values())


def untolerated_preferences(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> int:
    """How many ``PreferNoSchedule`` taints a pod does not tolerate."""
    soft = [taint for taint in taints if taint.effect is Effect.PREFER_NO_SCHEDULE]
    return sum(not any(each.tolerates(taint) for each in tolerations) for taint in soft)
