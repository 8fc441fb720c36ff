"""The nodes of a cluster that runs, as a simulation sees them: there, and full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.resources import Resources
from multiarch.simulate.nodes import Nodes


@dataclass(frozen=True, slots=True)
class Live:
    """Nodes of a cluster that runs: how many of each node group and NodePool, sorted, and how many of neither."""

    nodes: tuple[tuple[str, int], ...]
    others: int = 0


def start_full(nodes: Nodes, live: Live, shapes: Mapping[str, NodeShape]) -> None:
    """Make the nodes that are there, by the shape of their group's, without any room and without amounts.

    kube-scheduler has looked at them already, or the pods would not be waiting.
    """
    for name, count in live.nodes:
        for _ in range(count):
            nodes.make(name, replace(shapes[name], allocatable=Resources()), new=False).free = Resources()
