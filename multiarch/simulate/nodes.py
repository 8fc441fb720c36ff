"""The nodes of a simulation and the pods on them: which have room, and where kube-scheduler would bind a pod."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Effect, Taint
from multiarch.facts.tolerations import Toleration
from multiarch.scheduling.fit import Fit, daemon_overhead
from multiarch.scheduling.nodes import Node, NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause, Reason
from multiarch.scheduling.resources import Resources
from multiarch.scheduling.topology import Placements
from multiarch.simulate.batches import has_host_rule
from multiarch.simulate.model import Batch

Key = tuple[float, ...]
_PERMANENT = frozenset((Cause.POD_ANTI_AFFINITY,))
"""No pod leaves its node here, so anti-affinity excludes a node for good; spread constraints and affinity may not."""


@dataclass(slots=True, eq=False)
class SimNode:
    """A node and its free resources. ``architectures`` are those that it can have once it is bought."""

    number: int
    group: str
    shape: NodeShape
    node: Node
    free: Resources
    new: bool
    architectures: tuple[Architecture, ...]
    instance_type: str = ""
    pods: int = 0

    @property
    def used(self) -> float:
        """The used shares of CPU and memory, added up: 0 to 2."""
        whole = self.shape.allocatable
        return 2 - self.free.cpu / max(whole.cpu, 1) - self.free.memory / max(whole.memory, 1)


@dataclass(slots=True)
class _Queue:
    """Nodes that may still take a pod of one batch, best first. ``seen`` counts the nodes that were considered."""

    heap: list[tuple[Key, int]] = field(default_factory=list)
    seen: int = 0


class Nodes:
    """All nodes. A pod that does not fit a node never will, so each pair is considered once.

    An autoscaler plans new nodes by its own rules and adds them here once they are settled.
    """

    def __init__(self, batches: Sequence[Batch], daemons: Sequence[Pod], fit: Fit) -> None:
        """Start without nodes. ``daemons`` are reserved on every node that they may run on."""
        self.all: list[SimNode] = []
        self.where: dict[int, list[tuple[str, SimNode]]] = {batch.number: [] for batch in batches}
        self.placements = Placements()
        self.fit = fit
        self._daemons = tuple(daemons)
        self._overhead: dict[NodeShape, Resources] = {}
        self._batches = {batch.number: batch for batch in batches}
        self.pod_rules = any(batch.depends_on_pods for batch in batches)
        self.pod_anti_affinity = any(batch.sample.spec.pod_anti_affinity for batch in batches)
        self.host_rules = any(has_host_rule(batch.sample.spec) for batch in batches)
        self._queues: dict[int, _Queue] = {batch.number: _Queue() for batch in batches}
        self._by_group: Counter[str] = Counter()
        self._zones: Counter[tuple[str, str | None]] = Counter()
        self._in_order: defaultdict[str, list[str | None]] = defaultdict(list)

    def overhead(self, shape: NodeShape) -> Resources:
        """What DaemonSets request on a node."""
        if shape not in self._overhead:
            self._overhead[shape] = daemon_overhead(self._daemons, shape)
        return self._overhead[shape]

    def next_zone(self, group: str, shape: NodeShape) -> str | None:
        """The zone of an Auto Scaling Group's next node: the group keeps its zones balanced."""
        return min(shape.zones or (None,), key=lambda zone: self._zones[group, zone])

    def make(
        self, group: str, shape: NodeShape, *, new: bool, zone: str | None = None, instance_type: str = ""
    ) -> SimNode:
        """Add a node that runs only DaemonSets, in ``zone`` or else the next zone."""
        zone = self.next_zone(group, shape) if zone is None else zone
        self._by_group[group] += 1
        self._zones[group, zone] += 1
        self._in_order[group].append(zone)
        node = shape.node(f"{group}-{self._by_group[group]}", zone)
        free = shape.allocatable - self.overhead(shape)
        made = SimNode(len(self.all), group, shape, node, free, new, (shape.architecture,), instance_type)
        self.all.append(made)
        if self.pod_rules:
            self.placements.add(node)
        return made

    def count(self, group: str) -> int:
        """The number of nodes of a group."""
        return self._by_group[group]

    def zones(self, group: str) -> list[str | None]:
        """The zones of a group's nodes, each once, that of the newest node first."""
        return list(dict.fromkeys(reversed(self._in_order[group])))

    def in_zone(self, group: str, zone: str | None) -> int:
        """The number of nodes of a group in a zone."""
        return self._zones[group, zone]

    def replay(self, placements: Placements) -> None:
        """Add all nodes and pods to ``placements``."""
        for node in self.all:
            placements.add(node.node)
        for number, places in self.where.items():
            batch = self._batches[number]
            for _, node in places if batch.counted else ():
                placements.place(batch.sample, node.node)

    def put(self, batch: Batch, pod: Pod, node: SimNode) -> None:
        """Place a pod without checking that it fits."""
        node.free -= pod.requests
        node.pods += 1
        self.where[batch.number].append((pod.name, node))
        if self.pod_rules and batch.counted:
            self.placements.place(pod, node.node)

    def why_not(self, batch: Batch, node: Node) -> Reason | None:
        """Why other pods keep a batch's pods off a node, or None."""
        return self.placements.why_not(batch.sample, node) if self.pod_rules else None

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
        aside: list[tuple[Key, int]] = []
        found = None
        heap = queue.heap
        while heap and found is None:
            key, number = heap[0]
            node = self.all[number]
            current = self._key(batch, node)
            if key != current:
                heapq.heapreplace(heap, (current, number))
            elif not node.free.covers(pod.requests):
                heapq.heappop(heap)
            elif (reason := self.why_not(batch, node.node)) is not None:
                taken = heapq.heappop(heap)
                if reason.cause not in _PERMANENT:
                    aside.append(taken)
            else:
                found = node
        for entry in aside:
            heapq.heappush(heap, entry)
        if found is not None:
            self.put(batch, pod, found)
        return found

    def _consider_new(self, batch: Batch, queue: _Queue) -> None:
        """Add the nodes that were made since the last call to the queue."""
        for node in self.all[queue.seen :]:
            sample = batch.sample
            if self.fit.why_never(sample, node.shape) is None and sample.spec.affinity.allows(node.node.labels):
                heapq.heappush(queue.heap, (self._key(batch, node), node.number))
        queue.seen = len(self.all)

    def _key(self, batch: Batch, node: SimNode) -> Key:
        spec = batch.sample.spec
        preference = spec.affinity.score(node.node.labels) if spec.affinity.preferred else 0
        return (-preference, untolerated_preferences(spec.tolerations, node.shape.taints), node.used)


def untolerated_preferences(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> int:
    """How many ``PreferNoSchedule`` taints a pod does not tolerate."""
    soft = [taint for taint in taints if taint.effect is Effect.PREFER_NO_SCHEDULE]
    return sum(not any(each.tolerates(taint) for each in tolerations) for taint in soft)
