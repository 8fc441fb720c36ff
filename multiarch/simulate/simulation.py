"""Which nodes a set of pods would get, and why, by the rules of the plan's autoscalers.

First kube-scheduler fills the existing nodes, each group's desired size; then the autoscaler in use adds nodes for the
remaining pods. During a migration the autoscaler that is being replaced comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.autoscaling.node_labels import find_region
from multiarch.nodes.model import CapacityType, NodeGroupPlan
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.simulate.batches import make_batches
from multiarch.simulate.cluster_autoscaler import ScalableGroup, add_nodes
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.karpenter import KarpenterSimulation
from multiarch.simulate.model import Batch, Reasons, Simulation, Waiting
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.notes import list_node_notes
from multiarch.simulate.outcome import FinalState, build_simulation
from multiarch.simulate.preemption import Guard, preempt_pods
from multiarch.simulate.settled import NodeState, Settled, Unavailable
from multiarch.simulate.shapes import get_group_capacity
from multiarch.simulate.supply import Supply, group_shapes


def simulate_nodes(
    plan: AutoscalingPlan,
    groups: Sequence[NodeGroupPlan],
    context: SimulationContext,
    pods: Iterable[Pod],
    live: Sequence[NodeState] | None = None,
) -> Settled:
    """Place ``pods`` on the nodes of the plan, and say for every group why it was used or not.

    Pods that already have a node, and pods of DaemonSets, are omitted; what DaemonSets request is reserved on every
    node. ``live`` are the nodes of a cluster with their pods; without them each group starts with its desired size.
    """
    everything = list(pods)
    nodes = list_planned_nodes(groups, context, everything) if live is None else tuple(live)
    settled = settle_pods(plan, groups, context, nodes, everything, preempting=False)

    def explain() -> Simulation:
        result = settled.simulation
        return replace(result, notes=(*list_node_notes(groups, everything, live), *result.notes))

    return replace(settled, explain=explain)


def list_planned_nodes(
    groups: Sequence[NodeGroupPlan], context: SimulationContext, pods: Iterable[Pod]
) -> tuple[NodeState, ...]:
    """Return the desired nodes of each group, without pods, over the group's zones in turn.

    ``pods`` are those that are placed later.
    """
    shapes = group_shapes(groups, context, {pod.spec for pod in pods if pod.waiting})
    return tuple(
        NodeState(
            name=f"{group.name}-{number + 1}",
            group=group.name,
            shape=shapes[group.name],
            zone=zones[number % len(zones)],
            instance_type=group.instance_types[0].name,
            capacity_type=bought,
        )
        for group in groups
        for zones in ((shapes[group.name].zones or (None,)),)
        for number, bought in enumerate(_list_bought(group))
    )


def _list_bought(group: NodeGroupPlan) -> Iterable[CapacityType]:
    """Return how each of the desired nodes of a group is bought."""
    return [kind for kind, number in group.split(group.sizes.desired).items() for _ in range(number)]


def settle_pods(
    plan: AutoscalingPlan,
    groups: Sequence[NodeGroupPlan],
    context: SimulationContext,
    nodes: Sequence[NodeState],
    pods: Iterable[Pod],
    *,
    unavailable: Unavailable | None = None,
    desired: Mapping[str, int] | None = None,
    preempting: bool = True,
    guards: Sequence[Guard] = (),
) -> Settled:
    """Place ``pods`` on ``nodes``, which keep the pods that they have; autoscalers add nodes for the others.

    Pods of ``pods`` that have a node already, and those of DaemonSets, are omitted; what DaemonSets (``per_node``)
    request is reserved on every node. No node is added where it is ``unavailable``; a group that has lost a zone grows
    in its other zones. ``desired`` is the number of nodes that node groups are to have: an Auto Scaling group replaces
    lost nodes by itself, before an autoscaler sees pods without a node. Without it, no node is replaced. Nodes of
    NodePools count against the pools' limits. ``preempting``: pods take the place of others of lower priority on nodes
    that exist, before an autoscaler adds nodes for those; of pods of ``guards`` only if there are no others.

    Raises ValueError for two nodes of one name.
    """
    lost = unavailable or Unavailable()
    everything = list(pods)
    daemons = [pod for pod in everything if pod.per_node]
    batches = make_batches(pod for pod in everything if pod.waiting and not pod.daemon)
    reasons = Reasons()
    sim = Nodes(batches, daemons, nodes)
    supply = Supply(plan, groups, context, [*(batch.sample for batch in batches), *daemons], lost)
    for pool in supply.pools:
        pool.reserve(daemons)
    growing = [_scalable(group, supply.shapes[group.name], lost) for group in groups]
    for group in growing:
        _replace_lost(group, sim, (desired or {}).get(group.name, 0))
    waiting = _bind(sim, batches)
    preempted = preempt_pods(sim, waiting, guards) if preempting else None
    if preempted is None:
        for autoscaler in _installed(plan):
            if autoscaler is not Autoscaler.CLUSTER_AUTOSCALER:
                KarpenterSimulation(supply.pools, sim, reasons).run(waiting)
            elif plan.cluster_autoscaler is not None:
                add_nodes(plan.cluster_autoscaler, growing, sim, waiting, reasons)
        _bind_left(sim, waiting)
        preempted = preempt_pods(sim, waiting, guards) if preempting else None
    if preempted is not None:
        pairs = zip(_states(sim, plan, groups), preempted.pods, strict=True)
        states = [replace(state, pods=pods) for state, pods in pairs]
        again = (*daemons, *preempted.waiting)
        return settle_pods(
            plan, groups, context, states, again, unavailable=unavailable, desired=desired, guards=guards
        )
    state = FinalState(plan, supply, sim, reasons)
    region = context.region or find_region(context.zones)
    return Settled(
        nodes=_states(sim, plan, groups),
        unplaced=tuple(pod for left in waiting.values() for pod in left),
        explain=partial(
            build_simulation, state, batches, everything, waiting, zones_assumed=context.assumed, region=region
        ),
    )


def _scalable(group: NodeGroupPlan, shape: NodeShape, lost: Unavailable) -> ScalableGroup:
    return ScalableGroup(
        name=group.name,
        shape=shape,
        capacity=get_group_capacity(group),
        max_size=group.sizes.maximum,
        instance_type=group.instance_types[0].name,
        zones=lost.open_zones(shape.zones),
        unavailable=lost.why_no_node(group, shape.zones),
    )


def _replace_lost(group: ScalableGroup, nodes: Nodes, desired: int) -> None:
    """Start the nodes that the group's Auto Scaling group is missing, each in the zone with the fewest."""
    while group.unavailable is None and nodes.count(group.name) < desired:
        zone = nodes.next_zone(group.name, group.zones)
        nodes.make(group.name, group.shape, zone, instance_type=group.instance_type)


def _states(nodes: Nodes, plan: AutoscalingPlan, groups: Sequence[NodeGroupPlan]) -> tuple[NodeState, ...]:
    pools = {pool.name: pool.capacities[0].capacity_type for pool in plan.pools}
    named, bought = {group.name: group for group in groups}, dict[str, list[CapacityType | None]]()
    states = []
    for node in nodes.all:
        before, group = bought.setdefault(node.group, []), named.get(node.group)
        if node.given is not None:
            state = replace(node.given, pods=node.all_pods) if node.placed else node.given
        else:
            state = NodeState(
                name=node.node.name,
                group=node.group,
                shape=node.shape,
                zone=node.zone,
                instance_type=node.instance_type,
                capacity_type=_buy(group, before) if group else pools[node.group],
                pods=tuple(node.placed),
            )
        before.append(state.capacity_type)
        states.append(state)
    return tuple(states)


def _buy(group: NodeGroupPlan, before: Sequence[CapacityType | None]) -> CapacityType:
    """Return how the next node of a group is bought, after those that it has."""
    wanted = group.split(len(before) + 1)[CapacityType.ON_DEMAND]
    return CapacityType.ON_DEMAND if before.count(CapacityType.ON_DEMAND) < wanted else CapacityType.SPOT


def _installed(plan: AutoscalingPlan) -> list[Autoscaler]:
    """Return the installed autoscalers, the one in use first."""
    installed = [Autoscaler.CLUSTER_AUTOSCALER] if plan.cluster_autoscaler else []
    installed += [Autoscaler.KARPENTER] if plan.karpenter else [Autoscaler.AUTO_MODE] if plan.auto_mode else []
    return sorted(installed, key=lambda each: each is not plan.use)


def _bind(nodes: Nodes, batches: Sequence[Batch]) -> Waiting:
    """Fill the existing nodes as kube-scheduler would, pods of higher priority first; return the remaining pods."""
    waiting: Waiting = {}
    for batch in sorted(batches, key=lambda each: -(each.sample.spec.priority or 0)):
        if left := nodes.bind_all(batch, batch.pods):
            waiting[batch] = left
    _bind_left(nodes, waiting)
    return dict(sorted(waiting.items(), key=lambda pair: pair[0].number))


def _bind_left(nodes: Nodes, waiting: Waiting) -> None:
    """Try pods again as long as that helps one: others, which their rules are about, may have got a node meanwhile.

    Where a new node is in another zone than was expected, its room may be of use for others.
    """
    helped = True
    while helped:
        helped = False
        for batch in list(waiting):
            left = nodes.bind_all(batch, waiting[batch])
            helped = helped or len(left) < len(waiting[batch])
            if left:
                waiting[batch] = left
            else:
                del waiting[batch]
