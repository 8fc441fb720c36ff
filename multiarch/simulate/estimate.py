"""How many new nodes of one group pods need, and how many pods go on each, as the cluster autoscaler estimates it.

All new nodes are like one template node, in one zone. Pods are taken workload by workload, the largest first. The pods
of a workload go to new nodes that have room, in turn; the others go to the last new node or one more. A new node that
a pod can't use, because of other pods, stays empty: no more are added for that workload.
Source: autoscaler, ``cluster-autoscaler/estimator/binpacking_estimator.go``, ``decreasing_pod_orderer.go``.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field

from multiarch.scheduling.nodes import Node, NodeShape
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.model import Batch
from multiarch.simulate.nodes import Nodes

_ANY = -(2**63)


@dataclass(slots=True)
class PlannedNode:
    """A node that is to be added, and the number of pods of each batch that it is for."""

    node: Node
    free: ResourceAmounts
    pods: Counter[Batch] = field(default_factory=Counter)


def estimate_nodes(
    shape: NodeShape, zone: str | None, nodes: Nodes, waiting: Mapping[Batch, int], *, most: int
) -> list[PlannedNode]:
    """Plan up to ``most`` new nodes in ``zone`` for so many pods of each batch, each of which fits an empty one."""
    by_rules = any(map(nodes.has_rules, waiting))
    estimator = _Estimator(shape, zone, nodes, most, by_rules=by_rules)
    with nodes.placements.trial() if by_rules else nullcontext():
        for batch in sort_by_size(waiting, shape):
            estimator.fill(batch, waiting[batch])
    return [each for each in estimator.planned if each.pods]


def sort_by_size(batches: Iterable[Batch], shape: NodeShape) -> list[Batch]:
    """Return the largest pods first, by the shares of a node's CPU and memory that they request, then by priority."""
    whole = shape.allocatable

    def key(batch: Batch) -> tuple[float, int, int]:
        wanted = batch.sample.requests
        size = wanted.cpu / max(whole.cpu, 1) + wanted.memory / max(whole.memory, 1)
        return -size, -(batch.sample.spec.priority or 0), batch.number

    return sorted(batches, key=key)


class _Estimator:
    """``by_rules``: some pods depend on others, so that those on planned nodes are counted."""

    def __init__(self, shape: NodeShape, zone: str | None, nodes: Nodes, most: int, *, by_rules: bool) -> None:
        self.planned: list[PlannedNode] = []
        self._shape = shape
        self._zone = zone
        self._most = most
        self._nodes = nodes
        self._by_rules = by_rules
        self._empty = shape.allocatable - nodes.overhead(shape)
        # The planned node at which the search for room goes on.
        self._turn = 0

    def fill(self, batch: Batch, count: int) -> None:
        """Place as many pods of a workload as fit."""
        if not self._nodes.has_rules(batch):
            self._fill_last(batch, self._share(batch, count))
        elif batch.sample.owner is None and batch.depends_on_pods:
            # Pods of one controller are taken together, and each pod without a controller by itself.
            for _ in range(count):
                self._fill_by_rules(batch, 1)
        else:
            self._fill_by_rules(batch, count)

    def _share(self, batch: Batch, count: int) -> int:
        """Give pods without rules to the planned nodes with room, in turn, and return how many are left."""
        wanted = batch.sample.requests
        # Compared before all resources are: most nodes have no room. What is not requested is never short.
        cpu, memory = wanted.cpu or _ANY, wanted.memory or _ANY
        order = (*range(self._turn, len(self.planned)), *range(self._turn))
        rooms = [
            (place, room)
            for place in order
            if (free := self.planned[place].free).cpu >= cpu and free.memory >= memory and (room := free.times(wanted))
        ]
        while count and rooms:
            # As many whole turns as the fullest node takes, or a last one that not all nodes have a part in.
            turns = min(*(room for _, room in rooms), count // len(rooms)) or 1
            served = rooms[:count]
            for place, _ in served:
                self._put(batch, self.planned[place], turns)
            count -= turns * len(served)
            self._turn = (served[-1][0] + 1) % len(self.planned)
            rooms = [(place, room - turns) for place, room in rooms if room > turns]
        return count

    def _fill_last(self, batch: Batch, count: int) -> None:
        """Give pods without rules to the last planned node and further ones."""
        while count:
            room = self.planned[-1].free.times(batch.sample.requests) if self.planned else 0
            if room:
                self._put(batch, self.planned[-1], min(room, count))
                count -= min(room, count)
            elif not self._add(batch):
                return

    def _fill_by_rules(self, batch: Batch, count: int) -> None:
        """The same for pods that depend on others, one by one."""
        if self.planned:
            count = self._share_by_rules(batch, count)
        while count and ((self.planned and self._fits(batch, self.planned[-1])) or self._add(batch)):
            self._put(batch, self.planned[-1], 1)
            count -= 1

    def _share_by_rules(self, batch: Batch, count: int) -> int:
        whole, requests = len(self.planned), batch.sample.requests
        able = deque((*range(self._turn, whole), *range(self._turn)))
        passed = 0
        while count and passed < len(able):
            place = able.popleft()
            planned = self.planned[place]
            # A node that has no room for this pod has none for the next.
            if not planned.free.covers(requests):
                continue
            able.append(place)
            if self._allowed(batch, planned):
                self._put(batch, planned, 1)
                self._turn = (place + 1) % whole
                count -= 1
                passed = 0
            elif self._nodes.host_rules:
                passed += 1
            else:
                # Rules about pods are by labels that all planned nodes share.
                break
        return count

    def _add(self, batch: Batch) -> bool:
        """Add a node, and say whether a pod fits it."""
        if len(self.planned) >= self._most or (self.planned and not self.planned[-1].pods):
            return False
        if self.planned and not self._nodes.host_rules:
            # The new nodes differ in nothing but their host names, which no rule is about.
            node = self.planned[0].node
        else:
            node = self._shape.node(f"{self._shape.name} {len(self.planned) + 1}", self._zone)
            if self._by_rules:
                self._nodes.placements.add(node)
        self.planned.append(PlannedNode(node, self._empty))
        return self._fits(batch, self.planned[-1])

    def _fits(self, batch: Batch, planned: PlannedNode) -> bool:
        return planned.free.covers(batch.sample.requests) and self._allowed(batch, planned)

    def _allowed(self, batch: Batch, planned: PlannedNode) -> bool:
        return self._nodes.why_not(batch, planned.node) is None

    def _put(self, batch: Batch, planned: PlannedNode, count: int) -> None:
        planned.free = planned.free.less(batch.sample.requests, count)
        planned.pods[batch] += count
        if self._by_rules and batch.counted:
            self._nodes.placements.place(batch.sample, planned.node, count)
