"""How many new nodes of one group pods need, and which pods go on each, as the cluster autoscaler estimates it.

All new nodes are like one template node, in one zone. Pods are taken workload by workload, the largest first. The pods
of a workload go to new nodes that have room, in turn; the others go to the last new node or one more. A new node that
a pod can't use, because of other pods, stays empty: no more are added for that workload.
Source: autoscaler, ``cluster-autoscaler/estimator/binpacking_estimator.go``, ``decreasing_pod_orderer.go``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from multiarch.scheduling.nodes import Node, NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import Resources
from multiarch.scheduling.topology import Placements
from multiarch.simulate.model import Batch
from multiarch.simulate.nodes import Nodes


@dataclass(slots=True)
class PlannedNode:
    """A node that is to be added, and the pods that it is for."""

    node: Node
    free: Resources
    pods: list[tuple[Batch, Pod]] = field(default_factory=list)


def estimate(
    shape: NodeShape, zone: str | None, nodes: Nodes, waiting: Mapping[Batch, Sequence[Pod]], *, most: int
) -> list[PlannedNode]:
    """Plan up to ``most`` new nodes in ``zone`` for ``waiting`` pods, each of which fits an empty one."""
    estimator = _Estimator(shape, zone, nodes, waiting, most)
    for batch in by_size(waiting, shape):
        for alike in _alike(batch, waiting[batch]):
            estimator.fill(batch, alike)
    return [each for each in estimator.planned if each.pods]


def by_size(batches: Iterable[Batch], shape: NodeShape) -> list[Batch]:
    """The largest pods first, by the shares of a node's CPU and memory that they request, then by priority."""
    whole = shape.allocatable

    def key(batch: Batch) -> tuple[float, int, int]:
        wanted = batch.sample.requests
        size = wanted.cpu / max(whole.cpu, 1) + wanted.memory / max(whole.memory, 1)
        return -size, -(batch.sample.spec.priority or 0), batch.number

    return sorted(batches, key=key)


def _alike(batch: Batch, pods: Sequence[Pod]) -> Iterable[Sequence[Pod]]:
    """Pods that are taken together: those of one controller, and each pod without a controller by itself."""
    if batch.sample.owner is None and batch.depends_on_pods:
        return ([pod] for pod in pods)
    return (pods,)


class _Estimator:
    def __init__(
        self,
        shape: NodeShape,
        zone: str | None,
        nodes: Nodes,
        waiting: Mapping[Batch, Sequence[Pod]],
        most: int,
    ) -> None:
        self.planned: list[PlannedNode] = []
        self._shape = shape
        self._zone = zone
        self._most = most
        self._empty = shape.allocatable - nodes.overhead(shape)
        self._placements = _copy(nodes, waiting)
        self._by_host = nodes.host_rules
        # The planned node at which the search for room goes on.
        self._turn = 0

    def fill(self, batch: Batch, pods: Sequence[Pod]) -> None:
        """Place as many pods of a workload as fit."""
        left = deque(pods)
        if self.planned:
            self._fill_in_turn(batch, left)
        while left and (self._fits_last(batch) or self._add(batch)):
            self._put(batch, left.popleft(), self.planned[-1])

    def _fill_in_turn(self, batch: Batch, left: deque[Pod]) -> None:
        count, requests = len(self.planned), batch.sample.requests
        able = deque((*range(self._turn, count), *range(self._turn)))
        passed = 0
        while left and passed < len(able):
            place = able.popleft()
            planned = self.planned[place]
            # A node that has no room for this pod has none for the next.
            if not planned.free.covers(requests):
                continue
            able.append(place)
            if self._allowed(batch, planned):
                self._put(batch, left.popleft(), planned)
                self._turn = (place + 1) % count
                passed = 0
            elif self._by_host:
                passed += 1
            else:
                # Rules about pods are by labels that all planned nodes share.
                return

    def _fits_last(self, batch: Batch) -> bool:
        return bool(self.planned) and self._fits(batch, self.planned[-1])

    def _add(self, batch: Batch) -> bool:
        """Add a node, and say whether a pod fits it."""
        if len(self.planned) >= self._most or (self.planned and not self.planned[-1].pods):
            return False
        node = self._shape.node(f"{self._shape.name} {len(self.planned) + 1}", self._zone)
        self.planned.append(PlannedNode(node, self._empty))
        if self._placements is not None:
            self._placements.add(node)
        return self._fits(batch, self.planned[-1])

    def _fits(self, batch: Batch, planned: PlannedNode) -> bool:
        return planned.free.covers(batch.sample.requests) and self._allowed(batch, planned)

    def _allowed(self, batch: Batch, planned: PlannedNode) -> bool:
        return self._placements is None or self._placements.why_not(batch.sample, planned.node) is None

    def _put(self, batch: Batch, pod: Pod, planned: PlannedNode) -> None:
        planned.free -= pod.requests
        planned.pods.append((batch, pod))
        if self._placements is not None and batch.counted:
            self._placements.place(pod, planned.node)


def _copy(nodes: Nodes, waiting: Iterable[Batch]) -> Placements | None:
    """Copy the placements, so that an estimate can be dropped; None where no waiting pod depends on other pods."""
    if not any(batch.depends_on_pods for batch in waiting) and not nodes.pod_anti_affinity:
        return None
    return nodes.placements.copy()
