"""Pods of higher priority take the place of others on nodes that exist, as kube-scheduler lets them.

It does so before an autoscaler adds nodes, which are then for the pods that had to go. On each node the fewest and
least important pods go; of the nodes it takes the one whose most important pod that has to go is the least important,
then by the sum of their priorities, then by their number. PodDisruptionBudgets are not taken into account: it prefers
to keep them, and does not have to.
Source: kubernetes, ``pkg/scheduler/framework/preemption/preemption.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from multiarch.scheduling.pods import Pod
from multiarch.simulate.model import Batch, Waiting
from multiarch.simulate.nodes import Nodes, SimNode

_OFFSET = 2**31 + 1
"""Added to each priority before priorities are summed, so that more pods never weigh less."""


@dataclass(frozen=True, slots=True)
class Preempted:
    """The pods of each node, in the order of the nodes, after some took the place of others.

    ``waiting`` are pods without a node, those that had to go included.
    """

    pods: list[tuple[Pod, ...]]
    waiting: list[Pod]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The pods that have to go from a node for another, and what that costs: less is better."""

    cost: tuple[int, int, int]
    node: SimNode
    victims: list[Pod]


def preempt(nodes: Nodes, waiting: Waiting) -> Preempted | None:
    """Place ``waiting`` pods where less important ones are; None where that is nowhere.

    ``nodes`` can't be used afterwards.
    """
    least = min((_rank(pod) for node in nodes.all for pod in node.all_pods), default=0)
    able = [batch for batch in waiting if batch.sample.spec.preempts and _rank(batch.sample) > least]
    if not able:
        return None
    return _Preemption(nodes).run(sorted(able, key=lambda each: -_rank(each.sample)), waiting)


def _rank(pod: Pod) -> int:
    return pod.spec.priority or 0


class _Preemption:
    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._on = [list(node.all_pods) for node in nodes.all]
        self._evicted: list[Pod] = []

    def run(self, able: Sequence[Batch], waiting: Waiting) -> Preempted | None:
        left = {batch: list(pods) for batch, pods in waiting.items()}
        for batch in able:
            found: dict[int, _Choice | None] = {}
            while left[batch] and self._place(batch, left[batch][0], found):
                del left[batch][0]
        if not self._evicted:
            return None
        still = [pod for pods in left.values() for pod in pods]
        return Preempted([tuple(pods) for pods in self._on], [*still, *self._evicted])

    def _place(self, batch: Batch, pod: Pod, found: dict[int, _Choice | None]) -> bool:
        """Place one pod on the node where the least important pods go for it.

        ``found`` keeps what was found for the pods of the batch before, by the node's number.
        """
        if self._nodes.has_rules(batch):
            found.clear()
        for node in self._nodes.all:
            if node.number not in found:
                found[node.number] = self._choice(batch, node)
        best = min(filter(None, found.values()), key=lambda each: (each.cost, each.node.number), default=None)
        if best is None:
            return False
        node, victims = best.node, best.victims
        del found[node.number]
        gone = {id(victim) for victim in victims}
        self._on[node.number] = [each for each in self._on[node.number] if id(each) not in gone]
        for victim in victims:
            self._lift(victim, node)
        self._evicted += [replace(victim, node_name="", phase="") for victim in victims]
        self._on[node.number].append(pod)
        self._put(pod, node)
        return True

    def _choice(self, batch: Batch, node: SimNode) -> _Choice | None:
        victims = self._victims(batch, node)
        if victims is None:
            return None
        ranks = [_rank(each) for each in victims]
        return _Choice((max(ranks, default=-_OFFSET), sum(rank + _OFFSET for rank in ranks), len(ranks)), node, victims)

    def _victims(self, batch: Batch, node: SimNode) -> list[Pod] | None:
        """The pods that have to go from a node, or None where the pod can't be on it even without all others."""
        sample = batch.sample
        if self._nodes.fit.why_never(sample, node.shape) or not sample.spec.affinity.allows(node.node.labels):
            return None
        less = sorted((pod for pod in self._on[node.number] if _rank(pod) < _rank(sample)), key=_rank)
        room = node.free
        for pod in less:
            room += pod.requests
        if not less or not room.covers(sample.requests):
            return None
        for pod in less:
            self._lift(pod, node)
        victims = self._not_spared(batch, node, less) if self._fits(batch, node) else None
        for pod in less if victims is None else victims:
            self._put(pod, node)
        return victims

    def _not_spared(self, batch: Batch, node: SimNode, less: Sequence[Pod]) -> list[Pod]:
        """Put back as many pods as possible, the most important first, and return the others."""
        victims = []
        for pod in reversed(less):
            self._put(pod, node)
            if not self._fits(batch, node):
                self._lift(pod, node)
                victims.append(pod)
        return victims

    def _fits(self, batch: Batch, node: SimNode) -> bool:
        return node.free.covers(batch.sample.requests) and self._nodes.why_not(batch, node.node) is None

    def _put(self, pod: Pod, node: SimNode) -> None:
        node.free -= pod.requests
        if self._nodes.counts(pod):
            self._nodes.placements.place(pod, node.node)

    def _lift(self, pod: Pod, node: SimNode) -> None:
        node.free += pod.requests
        if self._nodes.counts(pod):
            self._nodes.placements.remove(pod, node.node)
