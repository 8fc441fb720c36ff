"""The parts of a stack that do not depend on each other, so that a change of each can be searched by itself.

Pods of two parts never share a node, no rule of one is about pods of the other, and no PodDisruptionBudget selects
pods of both. Node groups of teams with taints of their own are such parts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from multiarch.capacity.recommendation.needs import Sources
from multiarch.capacity.recommendation.tunables import Key, Tunable, pools_by_key
from multiarch.capacity.workloads import name_of
from multiarch.manifests.disruption_budgets import DisruptionBudget
from multiarch.scheduling.pods import Pod
from multiarch.simulate.batches import Counted, depends_on_pods
from multiarch.stack.model import Plan

_MOST_WORKLOADS = 1000
"""With more, everything is one part: each workload is compared with each."""


@dataclass(frozen=True, slots=True)
class Part:
    """What can be raised for some of the pods, and these pods, with the templates of DaemonSets."""

    tunables: tuple[Tunable, ...]
    pods: tuple[Pod, ...]


def parts_of(
    plan: Plan,
    tunables: Sequence[Tunable],
    pods: Sequence[Pod],
    budgets: Sequence[DisruptionBudget],
    sources: Sources,
) -> list[Part]:
    """The parts that have tunables and pods; ``sources`` say which pods can use which of them."""
    samples = list({(name_of(pod), pod.spec, pod.labels): pod for pod in pods if not pod.per_node}.values())
    if len(samples) > _MOST_WORKLOADS:
        return [Part(tuple(tunables), tuple(pods))]
    union = _joined(samples, budgets, sources)
    _join_karpenter(plan, tunables, union)
    found = []
    for root in dict.fromkeys(union.root(each.key[:-1]) for each in tunables):
        own = tuple(each for each in tunables if union.root(each.key[:-1]) == root)
        there = tuple(pod for pod in pods if pod.per_node or union.root(name_of(pod)) == root)
        if any(not pod.per_node for pod in there):
            found.append(Part(own, there))
    return found


def _joined(samples: Sequence[Pod], budgets: Sequence[DisruptionBudget], sources: Sources) -> _Union:
    """Workloads and paths in the stack file, joined where one matters for the other."""
    union = _Union()
    for sample in samples:
        for path in sources.paths_of(sample):
            union.join(name_of(sample), path)
    for sample in samples:
        selects = Counted([sample])
        for other in samples if depends_on_pods(sample.spec) else ():
            if selects(other):
                union.join(name_of(sample), name_of(other))
    for budget in budgets:
        selected = [name_of(each) for each in samples if budget.selects(each.namespace, each.labels)]
        for name in selected[1:]:
            union.join(selected[0], name)
    return union


def _join_karpenter(plan: Plan, tunables: Sequence[Tunable], union: _Union) -> None:
    """NodePools depend on the zones of the node group that Karpenter's controller runs on, if these can change."""
    karpenter = plan.autoscaling.karpenter
    changing = {each.key[:-1] for each in tunables if each.key[-1] == "zones"}
    for group in plan.node_groups if karpenter else ():
        if karpenter and group.name == karpenter.controller_group and group.path in changing:
            for path in pools_by_key(plan):
                union.join(group.path, path)


class _Union:
    """Sets of paths in the stack file and names of workloads that are joined step by step."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}

    def root(self, item: Key) -> Hashable:
        """The same item for all of one set."""
        found: Hashable = item
        while (parent := self._parents.get(found, found)) != found:
            found = parent
        return found

    def join(self, first: Key, second: Key) -> None:
        """Make one set of the sets of both."""
        self._parents[self.root(first)] = self.root(second)
