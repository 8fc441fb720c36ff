"""Which nodes have room for a pod. The answer is remembered for all pods that ask for the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from multiarch.scheduling.fit import daemon_overhead, why_never
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import Resources
from multiarch.simulate.settled import NodeState

_TWO = 2
"""So many nodes are remembered for a pod: one of them is not the node that it leaves."""


@dataclass(slots=True)
class _Known:
    """Nodes with room, and how many of the changes were looked at to find them."""

    names: list[str] = field(default_factory=list)
    seen: int = 0


class Vacancy:
    """What is left of nodes. Rules about other pods are not checked."""

    def __init__(self, daemons: Sequence[Pod]) -> None:
        """Start without nodes. ``daemons`` are DaemonSets' templates, which take room on each node."""
        self._daemons = tuple(daemons)
        self._overhead: dict[NodeShape, Resources] = {}
        self._nodes: dict[str, NodeState] = {}
        self._free: dict[str, Resources] = {}
        self._changes: list[str] = []
        self._known: dict[tuple[PodSpec, int], _Known] = {}

    def change(self, node: NodeState) -> None:
        """Take a node as it is now; it may be a new one."""
        self._nodes[node.name] = node
        self._free[node.name] = self.left(node)
        self._changes.append(node.name)

    def left(self, node: NodeState) -> Resources:
        """What the pods of a node, DaemonSets' included, leave of it."""
        if node.shape not in self._overhead:
            self._overhead[node.shape] = daemon_overhead(self._daemons, node.shape)
        left = node.shape.allocatable - self._overhead[node.shape]
        for pod in node.pods:
            left -= pod.requests
        return left

    def found(self, pod: Pod, *, least: int = 0, besides: str = "") -> bool:
        """Whether a node other than ``besides`` has room for a pod, and a preference of ``least`` by its affinity."""
        known = self._known.setdefault((pod.spec, least), _Known())
        known.names = [name for name in known.names if self._free[name].covers(pod.requests)]
        while len(known.names) < _TWO and known.seen < len(self._changes):
            name = self._changes[known.seen]
            known.seen += 1
            if name not in known.names and self._takes(self._nodes[name], self._free[name], pod, least):
                known.names.append(name)
        return any(name != besides for name in known.names)

    def takes(self, node: NodeState, pod: Pod, *, least: int) -> bool:
        """Whether a node, as given, has room for a pod and a preference of ``least`` by its affinity."""
        return self._takes(node, self.left(node), pod, least)

    def _takes(self, node: NodeState, free: Resources, pod: Pod, least: int) -> bool:
        if not free.covers(pod.requests) or why_never(pod.spec, node.shape) is not None:
            return False
        labels = labels_of(node)
        return pod.spec.affinity.allows(labels, node.name) and pod.spec.affinity.score(labels, node.name) >= least


def labels_of(node: NodeState) -> dict[str, str]:
    """A node's labels, with its zone and its name."""
    return node.shape.labels_in(node.zone, node.name)
