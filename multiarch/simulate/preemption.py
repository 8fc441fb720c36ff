"""Pods of higher priority take the place of others on nodes that exist, as kube-scheduler lets them.

It does so before an autoscaler adds nodes, which are then for the pods that had to go. On each node the fewest and
least important pods go, of equally important ones the youngest, and if possible none that a PodDisruptionBudget keeps.
It takes the node where the fewest budgets are violated, then the one whose most important pod that has to go is the
least important, then by the sum of their priorities, then by their number.
Source: kubernetes, ``pkg/scheduler/framework/preemption/preemption.go`` (``pickOneNodeForPreemption``),
``plugins/defaultpreemption/default_preemption.go`` beside it and, for the order of pods,
``pkg/scheduler/util/utils.go`` (``MoreImportantPod``).
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort_right
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from multiarch.manifests.disruption_budgets import DisruptionBudget
from multiarch.manifests.selectors import LabelSelector
from multiarch.manifests.values import Labels
from multiarch.scheduling.fit import explain_never
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.batches import Counted, list_repelling_terms
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
class Guard:
    """A PodDisruptionBudget, and how many of its pods have to stay available."""

    budget: DisruptionBudget
    least: int


def make_guards(budgets: Iterable[DisruptionBudget], pods: Iterable[Pod]) -> tuple[Guard, ...]:
    """Return the budgets with how many of ``pods``, which are all that there should be, each of them keeps."""
    counts = Counter((pod.namespace, pod.labels) for pod in pods)
    return tuple(
        Guard(each, each.least(sum(count for key, count in counts.items() if each.selects(*key)))) for each in budgets
    )


_Ranked = Sequence[tuple[bool, Pod]]
"""Pods in the order in which they may stay, each with whether its eviction violates a budget."""
_Choice = tuple[tuple[int, int, int, int], int, _Ranked, int]
"""What it costs to place a pod on a node (less is better), the node's number, the pods that have to go, and how often
budgets had come to allow less by then.
"""


def preempt_pods(nodes: Nodes, waiting: Waiting, guards: Sequence[Guard]) -> Preempted | None:
    """Place ``waiting`` pods where less important ones are; None where that is nowhere.

    ``nodes`` can't be used afterwards.
    """
    least = min((_rank(pod) for node in nodes.all for pod in node.all_pods), default=0)
    able = [batch for batch in waiting if batch.sample.spec.preempts and _rank(batch.sample) > least]
    if not able:
        return None
    return _Preemption(nodes, guards).run(sorted(able, key=lambda each: -_rank(each.sample)), waiting)


def _rank(pod: Pod) -> int:
    return pod.spec.priority or 0


def _reversed_rank(pod: Pod) -> int:
    return -_rank(pod)


class _Preemption:
    def __init__(self, nodes: Nodes, guards: Sequence[Guard]) -> None:
        self._nodes = nodes
        self._on = [list(node.all_pods) for node in nodes.all]
        budgets = enumerate(each.budget for each in guards)
        # To kube-scheduler, an empty selector selects no pods.
        self._selectors = [
            (number, each.namespace, each.selector)
            for number, each in budgets
            if each.selector is not None and each.selector != LabelSelector()
        ]
        self._guarding: dict[tuple[str, Labels], list[int]] = {}
        self._guarded: dict[int, tuple[Pod, list[int]]] = {}
        there = Counter(number for pods in self._on for pod in pods for number in self._guards_of(pod))
        self._allowed = {number: max(0, there[number] - each.least) for number, each in enumerate(guards)}
        self._lowered = 0
        self._sorted: dict[int, list[Pod]] = {}
        self._evicted: list[Pod] = []
        self._selected: dict[int, Counted] = {}

    def run(self, able: Sequence[Batch], waiting: Waiting) -> Preempted | None:
        left = {batch: deque(pods) for batch, pods in waiting.items()}
        for batch in able:
            heap: list[_Choice] = []
            for node in self._nodes.all:
                self._consider(batch, node, heap)
            while left[batch] and self._place(batch, left[batch][0], heap):
                left[batch].popleft()
        if not self._evicted:
            return None
        still = [pod for pods in left.values() for pod in pods]
        return Preempted([tuple(pods) for pods in self._on], [*still, *self._evicted])

    def _consider(self, batch: Batch, node: SimNode, heap: list[_Choice]) -> None:
        """Add the choice on a node, unless the pod can't be on it even without all less important ones.

        Nodes are omitted where those matter for the rules that the pod's place depends on.
        """
        sample = batch.sample
        if explain_never(sample.spec, node.shape) or not sample.spec.affinity.allows(node.node.labels):
            return
        less, room = self._less_important(batch, node)
        if not less or not room.covers(sample.requests):
            return
        if not self._nodes.has_rules(batch) or not any(self._affects(pod, batch) for pod in less):
            heapq.heappush(heap, self._by_room(batch, node))

    def _by_room(self, batch: Batch, node: SimNode) -> _Choice:
        """Return the choice on a node: as many pods as possible stay."""
        less, room = self._less_important(batch, node)
        victims: list[tuple[bool, Pod]] = []
        # Pods of one workload follow each other: what no longer fits of them is known at once.
        for requests, alike in groupby(self._ranked(less), key=lambda each: each[1].requests):
            pods = list(alike)
            stay = min(room.count_beside(requests, batch.sample.requests), len(pods))
            room = room.less(requests, stay)
            victims += pods[stay:]
        return _cost(victims), node.number, victims, self._lowered

    def _guards_of(self, pod: Pod) -> Sequence[int]:
        """Return the numbers of the budgets that select a pod."""
        # By identity: hashing the labels of each pod takes longer than all else here. The pod is kept, for its id.
        if (known := self._guarded.get(id(pod))) is None:
            key = pod.namespace, pod.labels
            if key not in self._guarding:
                labels = dict(pod.labels)
                self._guarding[key] = [
                    number
                    for number, namespace, selector in self._selectors
                    if namespace == pod.namespace and selector.matches(labels)
                ]
            known = self._guarded[id(pod)] = pod, self._guarding[key]
        return known[1]

    def _ranked(self, less: Sequence[Pod]) -> _Ranked:
        """The pods whose eviction violates a budget come first, then the most important ones."""
        left = dict(self._allowed)
        violating: list[tuple[bool, Pod]] = []
        others: list[tuple[bool, Pod]] = []
        for pod in less:
            violates = False
            for number in self._guards_of(pod):
                left[number] -= 1
                violates = violates or left[number] < 0
            (violating if violates else others).append((violates, pod))
        return [*violating, *others]

    def _less_important(self, batch: Batch, node: SimNode) -> tuple[list[Pod], ResourceAmounts]:
        """The less important pods of a node, the most important first, and the room that there is without them."""
        if node.number not in self._sorted:
            self._sorted[node.number] = sorted(self._on[node.number], key=_reversed_rank)
        pods = self._sorted[node.number]
        less = pods[bisect_right(pods, _reversed_rank(batch.sample), key=_reversed_rank) :]
        room = node.free
        for spec, count in Counter(pod.spec for pod in less).items():
            room = room.less(spec.requests, -count)
        return less, room

    def _affects(self, pod: Pod, batch: Batch) -> bool:
        """Whether the place of ``pod`` matters for the rules about pods of a batch, or its own rules exclude them."""
        if not self._nodes.counts(pod):
            return False
        if batch.number not in self._selected:
            self._selected[batch.number] = Counted([batch.sample])
        if self._selected[batch.number](pod):
            return True
        return Counted([pod], list_repelling_terms)(batch.sample)

    def _place(self, batch: Batch, pod: Pod, heap: list[_Choice]) -> bool:
        """Place one pod on the node where the least important pods go for it; False where there is none."""
        best = self._taken(batch, heap)
        if best is None:
            return False
        node, victims = self._nodes.all[best[1]], [pod for _, pod in best[2]]
        gone = {id(victim) for victim in victims}
        self._on[node.number] = [*(each for each in self._on[node.number] if id(each) not in gone), pod]
        for victim in victims:
            for number in self._guards_of(victim):
                if self._allowed[number]:
                    self._allowed[number] -= 1
                    self._lowered += 1
            node.free += victim.requests
            self._uncount(victim, node)
        node.free -= pod.requests
        self._count(pod, node)
        self._evicted += [replace(victim, node_name="", phase="") for victim in victims]
        self._sorted[node.number] = [each for each in self._sorted[node.number] if id(each) not in gone]
        insort_right(self._sorted[node.number], pod, key=_reversed_rank)
        self._consider(batch, node, heap)
        return True

    def _taken(self, batch: Batch, heap: list[_Choice]) -> _Choice | None:
        """Take the best choice that other pods allow from the heap."""
        aside = []
        found = None
        while heap and found is None:
            choice = heapq.heappop(heap)
            node = self._nodes.all[choice[1]]
            now = self._by_room(batch, node) if choice[3] < self._lowered else choice
            if now[0] > choice[0]:
                heapq.heappush(heap, now)
            elif self._nodes.why_not(batch, node.node) is None:
                found = now
            else:
                aside.append(now)
        for choice in aside:
            heapq.heappush(heap, choice)
        return found

    def _count(self, pod: Pod, node: SimNode) -> None:
        if self._nodes.counts(pod):
            self._nodes.placements.place(pod, node.node)

    def _uncount(self, pod: Pod, node: SimNode) -> None:
        if self._nodes.counts(pod):
            self._nodes.placements.remove(pod, node.node)


def _cost(victims: _Ranked) -> tuple[int, int, int, int]:
    ranks = [_rank(pod) for _, pod in victims]
    violated = sum(violates for violates, _ in victims)
    return violated, max(ranks, default=-_OFFSET), sum(rank + _OFFSET for rank in ranks), len(ranks)
