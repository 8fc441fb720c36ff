"""How many new nodes of one group pods need, and how many pods go on each, as the cluster autoscaler estimates it.

All new nodes are like one template node, in one zone. Pods are taken workload by workload, the largest first. The pods
of a workload go to new nodes that have room, in turn; the others go to the last new node or one more. A new node that
a pod can't use, because of other pods, stays empty: no more are added for that workload.
Source: autoscaler, ``cluster-autoscaler/estimator/binpacking_estimator.go``, ``decreasing_pod_orderer.go``.
"""

from __future__ import annotations

from collections import deque
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
    pods: dict[Batch, int] = field(default_factory=dict)


def estimate_nodes(
    shape: NodeShape, zone: str | None, template: Node, nodes: Nodes, waiting: Mapping[Batch, int], *, most: int
) -> tuple[list[PlannedNode], dict[Batch, int]]:
    """Plan up to ``most`` new nodes in ``zone`` for so many pods of each batch, each of which fits an empty one.

    ``template`` is one of them, for rules about other pods. Returns the nodes, and the number of pods of each batch
    that they get.
    """
    by_rules = any(map(nodes.has_rules, waiting))
    estimator = _Estimator(shape, zone, template, nodes, most, by_rules=by_rules)
    placed = {}
    with nodes.placements.trial() if by_rules else nullcontext():
        for batch in sort_by_size(waiting, shape):
            if count := waiting[batch] - estimator.fill(batch, waiting[batch]):
                placed[batch] = count
    return [each for each in estimator.planned if each.pods], placed


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

    def __init__(
        self, shape: NodeShape, zone: str | None, template: Node, nodes: Nodes, most: int, *, by_rules: bool
    ) -> None:
        self.planned: list[PlannedNode] = []
        self._shape = shape
        self._zone = zone
        self._template = template
        self._most = most
        self._nodes = nodes
        self._by_rules = by_rules
        self._empty = shape.allocatable - nodes.overhead(shape)
        # The planned node at which the search for room goes on.
        self._turn = 0

    def fill(self, batch: Batch, count: int) -> int:
        """Place as many pods of a workload as fit, and return how many are left."""
        if not self._nodes.has_rules(batch):
            return self._fill_last(batch, self._share(batch, count))
        if batch.sample.owner is None and batch.depends_on_pods:
            # Pods of one controller are taken together, and each pod without a controller by itself.
            return sum(self._fill_by_rules(batch, 1) for _ in range(count))
        return self._fill_by_rules(batch, count)

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

    def _fill_last(self, batch: Batch, count: int) -> int:
        """Give pods without rules to the last planned node and further ones, and return how many are left."""
        while count:
            last = self.planned[-1] if self.planned else None
            room = min(last.free.times(batch.sample.requests), count) if last else 0
            if last and room:
                alike = last.free == self._empty and not self._nodes.host_rules
                self._put(batch, last, room)
                count -= room
                if alike:
                    count -= self._repeat(batch, last, count // room)
            elif not self._add(batch):
                break
        return count

    def _repeat(self, batch: Batch, last: PlannedNode, times: int) -> int:
        """Add so many nodes like the last one, which has pods of one batch, and return how many pods they get."""
        times = min(times, self._most - len(self.planned))
        self.planned += [PlannedNode(last.node, last.free, last.pods.copy()) for _ in range(times)]
        pods = times * last.pods[batch]
        if pods and self._by_rules and batch.counted:
            self._nodes.placements.place(batch.sample, last.node, pods)
        return pods

    def _fill_by_rules(self, batch: Batch, count: int) -> int:
        """The same for pods that depend on others, one by one."""
        if self.planned:
            count = self._share_by_rules(batch, count)
        while count and ((self.planned and self._fits(batch, self.planned[-1])) or self._add(batch)):
            self._put(batch, self.planned[-1], 1)
            count -= 1
        return count

    def _share_by_rules(self, batch: Batch, count: int) -> int:
        if not self._nodes.host_rules and not self._allowed(batch, self.planned[0]):
            # Rules about pods are by labels that all planned nodes share.
            return count
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
                break  # as above
        return count

    def _add(self, batch: Batch) -> bool:
        """Add a node, and say whether a pod fits it."""
        if len(self.planned) >= self._most or (self.planned and not self.planned[-1].pods):
            return False
        node = self._template
        # Without rules about hosts the new nodes differ in nothing that matters.
        if self.planned and self._nodes.host_rules:
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
        planned.pods[batch] = planned.pods.get(batch, 0) + count
        if self._by_rules and batch.counted:
            self._nodes.placements.place(batch.sample, planned.node, count)
