"""The nodes of a live cluster, as a simulation sees them: existing, and full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.resources import Resources
from multiarch.simulate.settled import NodeState


@dataclass(frozen=True, slots=True)
class Live:
    """Nodes of a live cluster: the number of each node group and NodePool, sorted, and the number of all others."""

    nodes: tuple[tuple[str, int], ...]
    others: int = 0


def full_nodes(live: Live, shapes: Mapping[str, NodeShape]) -> Iterator[NodeState]:
    """Yield the existing nodes, with the labels and taints of their group and without allocatable resources.

    They have no room: kube-scheduler has tried them already, or the pods would not be pending.
    """
    for group, count in live.nodes:
        shape = replace(shapes[group], allocatable=Resources())
        zones = shape.zones or (None,)
        for number in range(count):
            yield NodeState(f"{group}-{number + 1}", group, shape, zones[number % len(zones)])
