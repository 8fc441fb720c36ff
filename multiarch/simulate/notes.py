"""What a simulation does not know or does not model, to show with its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan, KarpenterPlan
from multiarch.autoscaling.node_labels import NodeLabels, node_labels
from multiarch.facts.labels import EKS_NODE_GROUP, HOSTNAME, ZONE
from multiarch.facts.taints import Effect
from multiarch.nodes.model import NodeGroupPlan
from multiarch.scheduling.pods import Pod
from multiarch.simulate.batches import mentioned
from multiarch.simulate.model import Batch
from multiarch.simulate.pools import Pool
from multiarch.simulate.settled import NodeState

_COUNTED = ("nvidia.com/gpu", "aws.amazon.com/neuron", "hugepages-")


def notes_on(
    plan: AutoscalingPlan,
    groups: Sequence[NodeGroupPlan],
    batches: Sequence[Batch],
    *,
    zones_assumed: str,
    pools: Sequence[Pool] = (),
    region: str | None = None,
) -> tuple[str, ...]:
    """Return a sentence for each reason that applies why the cluster may behave differently."""
    keys = {key for batch in batches for key in mentioned(batch.sample.spec)}
    return (
        *_about_zones(batches, keys, assumed=zones_assumed),
        *_about_labels(_labels(plan, groups, region), keys),
        *_about_resources(batches),
        *_about_balancing(plan),
        *_about_pools(plan, batches, priced=any(pool.priced for pool in pools)),
        *_about_prices(pools),
    )


def limits_of(plan: AutoscalingPlan, *, priced: bool = False) -> tuple[str, ...]:
    """Return what is never simulated, and where the autoscalers can decide otherwise, a sentence or more for each."""
    return (
        "Node memory is a low estimate: 7.5 % less than EC2 states, as Karpenter assumes.",
        *_limits_of_cluster_autoscaler(plan),
        *_limits_of_karpenter(plan, priced=priced),
        *_limits_of_both(plan),
    )


def notes_on_nodes(
    groups: Sequence[NodeGroupPlan], pods: Iterable[Pod], live: Sequence[NodeState] | None
) -> tuple[str, ...]:
    """Return what ``simulate`` assumes of the existing nodes: those of the plan, or ``live`` ones."""
    if live is not None:
        return tuple(_about_live_nodes(live))
    return tuple(_about_nodes(groups, daemons=any(pod.per_node for pod in pods)))


def _about_nodes(groups: Sequence[NodeGroupPlan], *, daemons: bool) -> Iterator[str]:
    if any(group.sizes.desired for group in groups):
        yield (
            "Existing nodes: the desired size of each group, running only the pods in the files; --pending reads the "
            "nodes of a live cluster."
        )
    if not daemons:
        yield (
            "The files contain no DaemonSets; those of EKS add-ons (aws-node, kube-proxy) use CPU, memory and a pod "
            "slot on every node. `kubectl get daemonsets -A -o yaml` prints them for another --pods."
        )


def _about_live_nodes(live: Sequence[NodeState]) -> Iterator[str]:
    if any(node.group for node in live):
        yield "Existing nodes have the room that their pods leave of what their kubelets report."
    if others := sum(not node.group for node in live):
        which = "1 node" if others == 1 else f"{others} nodes"
        yield (
            f"Not of a group: {which} outside the stack's managed node groups and NodePools, such as self-managed "
            "nodes. Pods get their room, and they do not count towards maxSize."
        )
    yield "Starting nodes, and pods that preemption would make room for, are not taken into account."


def _about_zones(batches: Sequence[Batch], keys: set[str], *, assumed: str) -> Iterator[str]:
    if not assumed:
        return
    yield assumed
    if ZONE in keys:
        names = sorted(batch.name for batch in batches if ZONE in set(mentioned(batch.sample.spec)))
        yield f"{', '.join(names)} use zone names: the result is wrong until the stack has them (network.zones)."


def _labels(plan: AutoscalingPlan, groups: Sequence[NodeGroupPlan], region: str | None) -> list[NodeLabels]:
    """The labels of a node of every group and pool."""
    pools = plan.karpenter.pools if plan.karpenter else ()
    return [
        *(node_labels(group, group.instance_types[0], region=region) for group in groups),
        *(node_labels(pool, each, region=region) for pool in pools for each in pool.instance_types[:1]),
    ]


def _about_labels(labels: Sequence[NodeLabels], keys: set[str]) -> Iterator[str]:
    asked = sorted(keys - {EKS_NODE_GROUP, HOSTNAME, ZONE})
    unknown = [key for key in asked if any(each.is_unknown(key) for each in labels)]
    unknown = [key for key in unknown if not any(key in each.known for each in labels)]
    if unknown:
        yield f"Labels whose values are not known before a node exists count as missing: {', '.join(unknown)}."


def _about_resources(batches: Sequence[Batch]) -> Iterator[str]:
    extended = {name for batch in batches for name, _ in batch.sample.requests.extended}
    uncounted = sorted(name for name in extended if not name.startswith(_COUNTED))
    if uncounted:
        yield f"The tables do not say which instance types have {', '.join(uncounted)}; all count as having none."


def _about_balancing(plan: AutoscalingPlan) -> Iterator[str]:
    if plan.cluster_autoscaler is None:
        return
    for first, second in plan.cluster_autoscaler.not_balanced[:1]:
        yield (
            f"Similar groups do not share new nodes: {first} and {second} are similar and have different priorities, "
            "so balancing is off for the whole stack. A label that differs between the two turns it on."
        )


def _about_prices(pools: Sequence[Pool]) -> Iterator[str]:
    if missing := [why for pool in pools if (why := pool.why_types_are_missing())]:
        yield f"Instance types without a price are not bought: {', '.join(missing)}."
    if without := [pool.plan.name for pool in pools if pool.without_prices]:
        yield f"No instance type of {', '.join(without)} has a price: the smallest that holds a node's pods is named."


def _about_pools(plan: AutoscalingPlan, batches: Sequence[Batch], *, priced: bool) -> Iterator[str]:
    if plan.karpenter is None:
        return
    losing = sorted(batch.name for batch in batches if _loses_count(plan.karpenter, batch.sample))
    if losing:
        yield (
            f"{', '.join(losing)}: once Karpenter drops a PreferNoSchedule taint or a required affinity term for a "
            "pod, its topology spread no longer counts the pods that were planned before; kube-scheduler leaves the "
            "surplus pods pending until Karpenter's next round. Here the spread holds at once."
        )
    both = sorted(
        pool.name for pool in plan.karpenter.pools if len({kind.architecture for kind in pool.capacities}) > 1
    )
    if both and not priced:
        yield (
            f"{', '.join(both)}: NodePool of two architectures. Where neither the pods nor their size decide, prices "
            "do; here a type of the preferred architecture is named."
        )


def _limits_of_cluster_autoscaler(plan: AutoscalingPlan) -> Iterator[str]:
    if plan.cluster_autoscaler is not None:
        yield (
            "Cluster autoscaler: among groups with the same priority and waste the real one takes any, here the first "
            "by name; of equally good nodes kube-scheduler takes any, here the oldest. The next node of a group is "
            "expected in the zone of its newest node, and Auto Scaling fills the zones of a group evenly."
        )


def _limits_of_karpenter(plan: AutoscalingPlan, *, priced: bool) -> Iterator[str]:
    if plan.karpenter is None:
        return
    size = "cheapest" if priced else "smallest"
    why = "EC2 may take another cheap type for spot nodes" if priced else "--prices names the cheapest"
    yield f"Karpenter: the {size} type that holds a node's pods is named, and counted against limits; {why}."
    yield (
        "Karpenter takes pods of one size by age, here in the order of the files. Among equally empty zones, or both "
        "architectures of a NodePool, it takes any; so it does among more than 12 planned nodes with as many pods."
    )
    yield (
        "Karpenter gives a planned node any label that its pods narrow to one value, such as with NotIn and In; here a "
        "node has only the labels of its NodePool and its instance type."
    )


def _limits_of_both(plan: AutoscalingPlan) -> Iterator[str]:
    if plan.cluster_autoscaler is None and plan.karpenter is None:
        return
    yield (
        "Pods get the node that was planned for them. kube-scheduler may bind a pod to any node with room; the "
        "autoscaler then adds another node for the pod that the room was meant for."
    )
    removed = "Consolidation" if plan.use is Autoscaler.KARPENTER else "Scale-down"
    yield f"{removed}, spot interruptions and EC2 capacity shortages are not simulated."


def _loses_count(karpenter: KarpenterPlan, pod: Pod) -> bool:
    """Whether a pod has spread constraints, and Karpenter may relax what they count by."""
    soft = any(taint.effect is Effect.PREFER_NO_SCHEDULE for pool in karpenter.pools for taint in pool.taints)
    return bool(pod.spec.spread) and (soft or len(pod.spec.affinity.required or ()) > 1)
