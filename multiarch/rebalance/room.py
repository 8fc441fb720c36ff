"""Where the pods of a node would go while it is cordoned: to arm64 nodes for certain, or perhaps to amd64 nodes.

Pods are evicted only once an arm64 node has room for them. Then kube-scheduler puts one there unless an amd64 node has
room too, and the pod does not prefer arm64.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE
from multiarch.facts.taints import Effect, Taint
from multiarch.scheduling.fit import Fit, daemon_overhead
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import Resources
from multiarch.simulate.settled import NodeState, Settled

Settle = Callable[[Sequence[NodeState], Sequence[Pod]], Settled]
"""Places pods without a node on the free room of nodes, and on nodes that the stack's autoscaler adds."""
_CORDONED = Taint("node.kubernetes.io/unschedulable", "", Effect.NO_SCHEDULE)
"""The taint of a cordoned node. A pod that tolerates everything may be put there nevertheless."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Where kube-scheduler is expected to put a pod. ``why_not``: why that is not arm64 for sure, a clause."""

    node: NodeState | None
    new: bool = False
    why_not: str = ""


class Room:
    """All nodes, and what is on them. Nodes that take no pods have a taint that says so."""

    def __init__(self, nodes: Iterable[NodeState], daemons: Sequence[Pod], settle: Settle) -> None:
        """``daemons`` are DaemonSets' templates, which take room on each node."""
        self._nodes = {each.name: each for each in nodes}
        self._daemons = tuple(daemons)
        self._settle = settle
        self._fit = Fit()
        self._free: dict[str, Resources] = {}

    def without(self, source: str, pods: Sequence[Pod]) -> list[Expected]:
        """Where each of ``pods``, evicted from ``source``, goes while that is cordoned. Nothing is changed by it."""
        found = self._placed(source, pods)
        staying = {number for number, each in enumerate(found) if each.node is not None and each.why_not}
        if not staying or all(each.node is not None for each in found):
            return found
        # What stays leaves its room to the others.
        rest = [number for number in range(len(pods)) if number not in staying]
        for number, each in zip(rest, self._placed(source, [pods[number] for number in rest]), strict=True):
            found[number] = each
        return found

    def _placed(self, source: str, pods: Sequence[Pod]) -> list[Expected]:
        waiting = [_for_arm64(pod) for pod in pods]
        here = _less(self._nodes[source], pods)
        taints = tuple(sorted({*here.shape.taints, _CORDONED}))
        around = {**self._nodes, source: replace(here, shape=replace(here.shape, taints=taints))}
        settled = self._settle(list(around.values()), [*self._daemons, *waiting])
        there = {(pod.namespace, pod.name): node for node in settled.nodes for pod in node.pods}
        amd64 = {
            name: self._left(each) if name == source else self._known(each)
            for name, each in around.items()
            if each.shape.architecture is Architecture.AMD64
        }
        return [
            self._expected(pod, here, there.get((pod.namespace, pod.name)), around, amd64) for pod in map(_again, pods)
        ]

    def move(self, source: str, moved: Sequence[tuple[Pod, NodeState]]) -> None:
        """Take pods off ``source``, and put each on the node that :meth:`without` expected."""
        self._nodes[source] = _less(self._nodes[source], [pod for pod, _ in moved])
        self._free.pop(source, None)
        for pod, node in moved:
            before = self._nodes.get(node.name) or replace(node, pods=())
            self._nodes[node.name] = replace(before, pods=(*before.pods, pod))

    def _expected(
        self,
        pod: Pod,
        here: NodeState,
        node: NodeState | None,
        around: Mapping[str, NodeState],
        amd64: Mapping[str, Resources],
    ) -> Expected:
        if node is None:
            return Expected(None, why_not="no arm64 node has room for it, and none can be added")
        new = node.name not in around
        wanted = pod.spec.affinity.score(_labels(node))
        if pod.spec.affinity.score(_labels(here)) > wanted:
            return Expected(node, new, "its node affinity prefers the amd64 node to an arm64 node")
        for name, free in amd64.items():
            other = around[name]
            fits = self._fit.why_not(pod, other.shape, free) is None
            if fits and pod.spec.affinity.score(_labels(other)) >= wanted:
                return Expected(node, new, "it does not prefer arm64, and an amd64 node has room for it")
        return Expected(node, new)

    def _known(self, node: NodeState) -> Resources:
        if node.name not in self._free:
            self._free[node.name] = self._left(node)
        return self._free[node.name]

    def _left(self, node: NodeState) -> Resources:
        taken = daemon_overhead(self._daemons, node.shape)
        for pod in node.pods:
            taken += pod.requests
        return node.shape.allocatable - taken


def _again(pod: Pod) -> Pod:
    """The pod that a controller creates in place of this one."""
    return replace(pod, node_name="", phase="")


def _for_arm64(pod: Pod) -> Pod:
    """The same, where it finds arm64 nodes only."""
    affinity = pod.spec.affinity
    selector = tuple(sorted({*affinity.selector, (ARCHITECTURE, str(Architecture.ARM64))}))
    return replace(_again(pod), spec=replace(pod.spec, affinity=replace(affinity, selector=selector)))


def _less(node: NodeState, pods: Collection[Pod]) -> NodeState:
    gone = {(pod.namespace, pod.name) for pod in pods}
    return replace(node, pods=tuple(pod for pod in node.pods if (pod.namespace, pod.name) not in gone))


def _labels(node: NodeState) -> dict[str, str]:
    return node.shape.labels_in(node.zone, node.name)
