"""What a simulation does not know or does not model, to show with its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.autoscaling.node_labels import NodeLabels, build_node_labels
from multiarch.facts.labels import EKS_NODE_GROUP, HOSTNAME, ZONE
from multiarch.facts.node_resources import EFA
from multiarch.nodes.model import NodeGroupPlan
from multiarch.scheduling.pods import Pod
from multiarch.simulate.batches import list_used_labels
from multiarch.simulate.model import Batch
from multiarch.simulate.pools import Pool
from multiarch.simulate.settled import NodeState
from multiarch.simulate.supply import Supply

_COUNTED = ("nvidia.com/gpu", "aws.amazon.com/neuron", EFA, "hugepages-")


def list_notes(
    plan: AutoscalingPlan,
    supply: Supply,
    batches: Sequence[Batch],
    *,
    zones_assumed: str,
    region: str | None = None,
) -> tuple[str, ...]:
    """Return a sentence for each reason that applies why the cluster may behave differently."""
    keys = {key for batch in batches for key in list_used_labels(batch.sample.spec)}
    return (
        *_about_zones(batches, keys, assumed=zones_assumed),
        *_about_labels(_labels(plan, supply.groups, region), keys),
        *_about_resources(batches),
        *_about_balancing(plan),
        *list_reservation_notes(plan, supply.groups),
        *_about_pools(plan, priced=any(pool.priced for pool in supply.pools)),
        *_about_prices(supply.pools),
    )


def list_node_notes(
    groups: Sequence[NodeGroupPlan], pods: Iterable[Pod], live: Sequence[NodeState] | None
) -> tuple[str, ...]:
    """Return what ``simulate`` assumes of the existing nodes: those of the plan, or ``live`` ones."""
    if live is not None:
        return tuple(_about_live_nodes(live))
    return tuple(_about_nodes(groups, daemons=any(pod.per_node for pod in pods)))


def list_reservation_notes(plan: AutoscalingPlan, groups: Sequence[NodeGroupPlan]) -> Iterator[str]:
    """Yield who gets nodes only while a capacity reservation has room."""
    names = [each.name for each in groups if each.capacity_reservation not in {"", "open", "none"}]
    names += [each.name for each in plan.pools if each.reserved]
    if names:
        yield (
            f"How much room the capacity reservations of {', '.join(names)} have is not known here: maxSize and "
            "cpuLimit alone bound the new nodes."
        )


def _about_nodes(groups: Sequence[NodeGroupPlan], *, daemons: bool) -> Iterator[str]:
    if any(group.sizes.desired for group in groups):
        yield (
            "Existing nodes: the desired size of each group, running only the pods in the files; --live reads the "
            "nodes of a live cluster."
        )
    if not daemons:
        yield (
            "The files contain no DaemonSets; those of EKS add-ons (aws-node, kube-proxy) use CPU, memory and a pod "
            "slot on every node. `kubectl get daemonsets -A -o yaml` prints them for another --manifests."
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
        names = sorted(batch.name for batch in batches if ZONE in set(list_used_labels(batch.sample.spec)))
        yield f"{', '.join(names)} use zone names: the result is wrong until the stack has them (network.zones)."


def _labels(plan: AutoscalingPlan, groups: Sequence[NodeGroupPlan], region: str | None) -> list[NodeLabels]:
    """Return the labels of a node of every group and pool."""
    return [
        *(build_node_labels(group, group.instance_types[0], region=region) for group in groups),
        *(build_node_labels(pool, each, region=region) for pool in plan.pools for each in pool.instance_types[:1]),
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


def _about_pools(plan: AutoscalingPlan, *, priced: bool) -> Iterator[str]:
    both = sorted(pool.name for pool in plan.pools if len({kind.architecture for kind in pool.capacities}) > 1)
    if both and not priced:
        yield (
            f"{', '.join(both)}: NodePool of two architectures. Where neither the pods nor their size decide, prices "
            "do; here a type of the preferred architecture is named."
        )
