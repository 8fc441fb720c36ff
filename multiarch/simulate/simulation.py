"""Which nodes a set of pods would get, and why: the autoscalers of a plan, each by its own rules.

First kube-scheduler fills the nodes that are there, each group's desired size; then the autoscaler in use adds nodes
for pods without one; while a stack moves from one to the other, the one that is being left comes last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.autoscaling.node_labels import region_of
from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.nodes.model import NodeGroupPlan
from multiarch.scheduling.fit import Fit, unmodelled
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.simulate.batches import asked_values, batches_of, mentioned
from multiarch.simulate.cluster_autoscaler import Growing, Reasons, Waiting, grow
from multiarch.simulate.karpenter import Karpenter
from multiarch.simulate.live import Live, start_full
from multiarch.simulate.model import Batch, GroupOutcome, Simulation, WorkloadOutcome
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.notes import notes_on
from multiarch.simulate.pools import Pool
from multiarch.simulate.reasons import Known, answers, places
from multiarch.simulate.shapes import asg_name, group_shape


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Zones and region of a plan's network. ``assumed`` is a sentence where names stand for others, or empty.

    ``live`` are the nodes of a cluster that runs; None starts from each group's desired size, without pods.
    """

    zones: tuple[str, ...]
    assumed: str = ""
    live: Live | None = None
    region: str | None = None


def simulate(
    plan: AutoscalingPlan, groups: Sequence[NodeGroupPlan], around: Surroundings, pods: Iterable[Pod]
) -> Simulation:
    """Place ``pods`` and say of every group why it was used or not.

    Pods that have a node already, and those of DaemonSets, are left out; DaemonSets' templates take their part of
    every node. Raises RegexError for a priority map that only the autoscaler can read.
    """
    everything = list(pods)
    daemons = [pod for pod in everything if pod.per_node]
    batches = batches_of(pod for pod in everything if pod.waiting and not pod.daemon)
    fit, reasons = Fit(), Reasons()
    nodes = Nodes(batches, daemons, fit)
    asking = [*batches, *batches_of(daemons)]
    names = {name for batch in asking for name in asked_values(batch.sample.spec, EKS_NODE_GROUP)}
    shapes = {group.name: group_shape(group, around.zones, region=around.region, names=names) for group in groups}
    pools = _pools(plan, around, asking)
    if around.live is None:
        _start(nodes, groups, shapes)
    else:
        start_full(nodes, around.live, {**{pool.plan.name: pool.shapes[0] for pool in pools}, **shapes})
    for pool in pools:
        pool.reserve(daemons)
    waiting = _bind(nodes, batches)
    for autoscaler in _turns(plan):
        if autoscaler is Autoscaler.KARPENTER:
            Karpenter(pools, nodes, reasons).run(waiting)
        elif plan.cluster_autoscaler is not None:
            growing = [Growing(each.name, asg_name(each), shapes[each.name], each.sizes.maximum) for each in groups]
            grow(plan.cluster_autoscaler, growing, nodes, waiting, reasons)
    known = Known(plan, tuple(groups), shapes, tuple(pools), nodes, reasons)
    left = {batch.number: [pod.name for pod in waiting.get(batch, ())] for batch in batches}
    return Simulation(
        autoscaler=plan.use,
        groups=_outcomes(known),
        workloads=tuple(_workload(batch, left[batch.number], known) for batch in batches),
        left_out=_left_out(everything),
        notes=notes_on(
            plan,
            groups,
            batches,
            daemons,
            zones_assumed=around.assumed,
            live=around.live,
            region=around.region or region_of(around.zones),
        ),
    )


def _start(nodes: Nodes, groups: Sequence[NodeGroupPlan], shapes: Mapping[str, NodeShape]) -> None:
    for group in groups:
        for _ in range(group.sizes.desired):
            nodes.make(group.name, shapes[group.name], new=False, instance_type=group.instance_types[0].name)


def _turns(plan: AutoscalingPlan) -> list[Autoscaler]:
    """The autoscalers that are installed, the one in use first."""
    installed = [Autoscaler.CLUSTER_AUTOSCALER] if plan.cluster_autoscaler else []
    installed += [Autoscaler.KARPENTER] if plan.karpenter else []
    return sorted(installed, key=lambda each: each is not plan.use)


def _pools(plan: AutoscalingPlan, around: Surroundings, batches: Sequence[Batch]) -> list[Pool]:
    """Karpenter's pools, the highest weight first."""
    if plan.karpenter is None:
        return []
    keys = frozenset(key for batch in batches for key in mentioned(batch.sample.spec))
    ordered = sorted(plan.karpenter.pools, key=lambda pool: (-pool.weight, pool.name))
    node_class = plan.karpenter.node_class
    return [Pool(each, node_class, around.zones, keys, region=around.region) for each in ordered if each.instance_types]


def _bind(nodes: Nodes, batches: Sequence[Batch]) -> Waiting:
    """Let kube-scheduler fill the nodes that are there, pods of higher priority first; return the others."""
    waiting: Waiting = {}
    for batch in sorted(batches, key=lambda each: -(each.sample.spec.priority or 0)):
        left = [pod for pod in batch.pods if nodes.bind(batch, pod) is None]
        if left:
            waiting[batch] = left
    return dict(sorted(waiting.items(), key=lambda pair: pair[0].number))


def _left_out(pods: Sequence[Pod]) -> tuple[tuple[str, int], ...]:
    counts: Counter[str] = Counter()
    for pod in pods:
        if pod.per_node:
            continue
        if pod.daemon:
            counts["of DaemonSets"] += 1
        elif not pod.waiting:
            counts["with a node already, or finished"] += 1
    return tuple(sorted(counts.items()))


def _workload(batch: Batch, left: Sequence[str], known: Known) -> WorkloadOutcome:
    return WorkloadOutcome(
        name=batch.name,
        namespace=batch.sample.namespace,
        pods=len(batch.pods),
        answers=answers(batch, bool(left), known),
        places=places(batch, known),
        unplaced=tuple(left),
        notes=unmodelled(batch.sample),
    )


def _outcomes(known: Known) -> tuple[GroupOutcome, ...]:
    rows = []
    for group in known.all_groups():
        nodes = [node for node in known.nodes.all if node.group == group.name]
        new = [node for node in nodes if node.new]
        rows.append(
            GroupOutcome(
                name=group.name,
                kind=group.kind,
                scaled_by=group.scaled_by,
                preference=group.preference,
                there=len(nodes) - len(new),
                new=len(new),
                most=group.most,
                instance_types=tuple(sorted(Counter(node.instance_type or group.first_type for node in new).items())),
                pods=sum(node.pods for node in nodes),
                cpu_allocatable=sum(node.shape.allocatable.cpu for node in nodes),
                cpu_requested=sum(node.shape.allocatable.cpu - node.free.cpu for node in nodes),
                memory_allocatable=sum(node.shape.allocatable.memory for node in nodes),
                memory_requested=sum(node.shape.allocatable.memory - node.free.memory for node in nodes),
            )
        )
    return tuple(rows)
