"""Which nodes a set of pods would get, and why, by the rules of the plan's autoscalers.

First kube-scheduler fills the existing nodes, each group's desired size; then the autoscaler in use adds nodes for the
remaining pods. During a migration the autoscaler that is being replaced comes last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.autoscaling.node_labels import region_of
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.nodes.model import NodeGroupPlan
from multiarch.scheduling.fit import Fit, runs_on, unmodelled
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.simulate.batches import asked_values, batches_of, mentioned
from multiarch.simulate.cluster_autoscaler import ScalableGroup, grow
from multiarch.simulate.karpenter import Karpenter
from multiarch.simulate.live import Live, start_full
from multiarch.simulate.model import (
    Batch,
    DaemonSetOutcome,
    GroupOutcome,
    Reasons,
    Simulation,
    Waiting,
    WorkloadOutcome,
)
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.notes import limits_of, notes_on
from multiarch.simulate.pools import Pool
from multiarch.simulate.reasons import FinalState, answers, may_use, places
from multiarch.simulate.shapes import asg_name, group_capacity, group_shape


@dataclass(frozen=True, slots=True)
class SimulationContext:
    """Where pods are placed: ``zones`` and ``region`` of the plan's network, and ``live`` nodes.

    ``assumed`` is a sentence that says where zone names are placeholders, or empty. Without ``live`` nodes each group
    starts with its desired size, and without pods.
    """

    zones: tuple[str, ...]
    assumed: str = ""
    live: Live | None = None
    region: str | None = None


def simulate(
    plan: AutoscalingPlan, groups: Sequence[NodeGroupPlan], context: SimulationContext, pods: Iterable[Pod]
) -> Simulation:
    """Place ``pods``, and say for every group why it was used or not.

    Pods that already have a node, and pods of DaemonSets, are left out; what DaemonSets request is reserved on every
    node. Raises RegexError for a priority map with regular expressions that only the autoscaler can read.
    """
    everything = list(pods)
    daemons = [pod for pod in everything if pod.per_node]
    batches = batches_of(pod for pod in everything if pod.waiting and not pod.daemon)
    fit, reasons = Fit(), Reasons()
    nodes = Nodes(batches, daemons, fit)
    asking = [*batches, *batches_of(daemons)]
    names = {name for batch in asking for name in asked_values(batch.sample.spec, EKS_NODE_GROUP)}
    shapes = {group.name: group_shape(group, context.zones, region=context.region, names=names) for group in groups}
    pools = _pools(plan, context, asking)
    if context.live is None:
        _start(nodes, groups, shapes)
    else:
        start_full(nodes, context.live, {**{pool.plan.name: pool.shapes[0] for pool in pools}, **shapes})
    for pool in pools:
        pool.reserve(daemons)
    waiting = _bind(nodes, batches)
    for autoscaler in _installed(plan):
        if autoscaler is Autoscaler.KARPENTER:
            Karpenter(pools, nodes, reasons).run(waiting)
        elif plan.cluster_autoscaler is not None:
            growing = [
                ScalableGroup(each.name, asg_name(each), shapes[each.name], group_capacity(each), each.sizes.maximum)
                for each in groups
            ]
            grow(plan.cluster_autoscaler, growing, nodes, waiting, reasons)
    state = FinalState(plan, tuple(groups), shapes, tuple(pools), nodes, reasons)
    left = {batch.number: [pod.name for pod in waiting.get(batch, ())] for batch in batches}
    return Simulation(
        autoscaler=plan.use,
        groups=_outcomes(state),
        workloads=tuple(_workload(batch, left[batch.number], state) for batch in batches),
        daemon_sets=_daemon_sets(daemons, nodes),
        left_out=_left_out(everything),
        notes=notes_on(
            plan,
            groups,
            batches,
            daemons,
            zones_assumed=context.assumed,
            live=context.live,
            region=context.region or region_of(context.zones),
        ),
        limits=limits_of(plan),
    )


def _start(nodes: Nodes, groups: Sequence[NodeGroupPlan], shapes: Mapping[str, NodeShape]) -> None:
    for group in groups:
        for _ in range(group.sizes.desired):
            nodes.make(group.name, shapes[group.name], new=False, instance_type=group.instance_types[0].name)


def _installed(plan: AutoscalingPlan) -> list[Autoscaler]:
    """The installed autoscalers, the one in use first."""
    installed = [Autoscaler.CLUSTER_AUTOSCALER] if plan.cluster_autoscaler else []
    installed += [Autoscaler.KARPENTER] if plan.karpenter else []
    return sorted(installed, key=lambda each: each is not plan.use)


def _pools(plan: AutoscalingPlan, context: SimulationContext, batches: Sequence[Batch]) -> list[Pool]:
    """Karpenter's pools, the highest weight first."""
    if plan.karpenter is None:
        return []
    keys = frozenset(key for batch in batches for key in mentioned(batch.sample.spec))
    ordered = sorted(plan.karpenter.pools, key=lambda pool: (-pool.weight, pool.name))
    node_class = plan.karpenter.node_class
    return [
        Pool(each, node_class, context.zones, keys, region=context.region) for each in ordered if each.instance_types
    ]


def _bind(nodes: Nodes, batches: Sequence[Batch]) -> Waiting:
    """Fill the existing nodes as kube-scheduler would, pods of higher priority first; return the remaining pods."""
    waiting: Waiting = {}
    for batch in sorted(batches, key=lambda each: -(each.sample.spec.priority or 0)):
        if left := nodes.bind_all(batch, batch.pods):
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
            counts["already on a node, or finished"] += 1
    return tuple(sorted(counts.items()))


def _workload(batch: Batch, left: Sequence[str], state: FinalState) -> WorkloadOutcome:
    placed = places(batch, state)
    return WorkloadOutcome(
        name=batch.name,
        namespace=batch.sample.namespace,
        pods=len(batch.pods),
        answers=answers(batch, bool(left), state),
        places=placed,
        unplaced=tuple(left),
        notes=unmodelled(batch.sample),
        on_amd64=sum(each.architectures == (Architecture.AMD64,) for each in placed)
        if may_use(batch, Architecture.ARM64, state)
        else 0,
    )


def _daemon_sets(daemons: Sequence[Pod], nodes: Nodes) -> tuple[DaemonSetOutcome, ...]:
    counts = Counter(node.shape for node in nodes.all)
    return tuple(
        DaemonSetOutcome(
            name=daemon.name,
            namespace=daemon.namespace,
            nodes=sum(count for shape, count in counts.items() if runs_on(daemon, shape)),
            cpu=daemon.requests.cpu,
            memory=daemon.requests.memory,
        )
        for daemon in daemons
    )


def _outcomes(state: FinalState) -> tuple[GroupOutcome, ...]:
    rows = []
    for group in state.all_groups():
        nodes = [node for node in state.nodes.all if node.group == group.name]
        new = [node for node in nodes if node.new]
        rows.append(
            GroupOutcome(
                name=group.name,
                kind=group.kind,
                scaled_by=group.scaled_by,
                preference=group.preference,
                existing=len(nodes) - len(new),
                new=len(new),
                max_size=group.max_size,
                instance_types=tuple(sorted(Counter(node.instance_type or group.first_type for node in new).items())),
                pods=sum(node.pods for node in nodes),
                cpu_allocatable=sum(node.shape.allocatable.cpu for node in nodes),
                cpu_requested=sum(node.shape.allocatable.cpu - node.free.cpu for node in nodes),
                memory_allocatable=sum(node.shape.allocatable.memory for node in nodes),
                memory_requested=sum(node.shape.allocatable.memory - node.free.memory for node in nodes),
            )
        )
    return tuple(rows)
