"""The parts of a stack that do not depend on each other, so that a change of each can be searched by itself.

Pods of two parts never share a node, no rule of one is about pods of the other, and no PodDisruptionBudget selects
pods of both. Node groups of teams with taints of their own are such parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.recommendation.needs import NodeSources
from multiarch.capacity.recommendation.tunables import Key, Tunable, group_pools
from multiarch.capacity.workloads import get_workload_name
from multiarch.scheduling.pods import Pod
from multiarch.simulate.batches import Counted, depends_on_pods
from multiarch.stack.model import Plan

_MOST_WORKLOADS = 1000
"""With more, everything is one part: each workload is compared with each."""


@dataclass(frozen=True, slots=True)
class StackPart:
    """What can be raised for some of the pods, and these pods, with the templates of DaemonSets."""

    tunables: tuple[Tunable, ...]
    pods: tuple[Pod, ...]


def list_parts(
    plan: Plan, tunables: Sequence[Tunable], evaluate: Evaluation, sources: NodeSources
) -> Iterator[StackPart]:
    """Yield the parts that have tunables and pods; ``sources`` say which pods can use which of them."""
    pods = tuple(pod for pod in evaluate.pods if not pod.per_node)
    samples = list({(get_workload_name(pod), pod.spec, pod.labels): pod for pod in pods}.values())
    if len(samples) > _MOST_WORKLOADS:
        yield StackPart(tuple(tunables), tuple(evaluate.pods))
        return
    daemons = tuple(pod for pod in evaluate.pods if pod.per_node)
    for joined in _join_sets([*_related(samples, evaluate, sources), *_karpenters(plan, tunables)]):
        own = tuple(each for each in tunables if each.key[:-1] in joined)
        there = tuple(pod for pod in pods if get_workload_name(pod) in joined)
        if own and there:
            yield StackPart(own, (*there, *daemons))


def _related(samples: Sequence[Pod], evaluate: Evaluation, sources: NodeSources) -> Iterator[set[Key]]:
    """Yield sets of workloads and of paths in the stack file, of which one matters for the others."""
    for sample in samples:
        yield {get_workload_name(sample), *sources.paths(sample)}
        if depends_on_pods(sample.spec):
            selects = Counted([sample])
            yield {get_workload_name(sample), *(get_workload_name(other) for other in samples if selects(other))}
    for budget in evaluate.budgets:
        yield {get_workload_name(each) for each in samples if budget.selects(each.namespace, each.labels)}


def _karpenters(plan: Plan, tunables: Sequence[Tunable]) -> Iterator[set[Key]]:
    """Yield what depends on the zones of the node group that Karpenter's controller runs on, if these can change."""
    karpenter = plan.autoscaling.karpenter
    changing = {each.key[:-1] for each in tunables if each.key[-1] == "zones"}
    for group in plan.node_groups:
        if karpenter and group.name == karpenter.controller_group and group.path in changing:
            yield {group.path, *group_pools(plan)}


def _join_sets(sets: Iterable[set[Key]]) -> list[set[Key]]:
    """Return the unions of sets that have something in common, directly or through others."""
    joined: list[set[Key]] = []
    for each in sets:
        common = [other for other in joined if not other.isdisjoint(each)]
        joined = [*(other for other in joined if other.isdisjoint(each)), each.union(*common)]
    return joined
