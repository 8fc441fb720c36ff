"""The nodes of a live cluster, as a simulation sees them: existing, and full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.resources import Resources
from multiarch.simulate.nodes import Nodes


@dataclass(frozen=True, slots=True)
class Live:
    """Nodes of a live cluster: the number of each node group and NodePool, sorted, and the number of all others."""

    nodes: tuple[tuple[str, int], ...]
    others: int = 0


def start_full(nodes: Nodes, live: Live, shapes: Mapping[str, NodeShape]) -> None:
    """Add the existing nodes, with the labels and taints of their group and without allocatable resources.

    They have no room: kube-scheduler has tried them already, or the pods would not be pending.
    """
    for name, count in live.nodes:
        for _ in range(count):
            nodes.make(name, replace(shapes[name], allocatable=Resources()), new=False).free = Resources()
