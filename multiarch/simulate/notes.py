"""What a simulation does not know or does not model, said beside its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan, KarpenterPlan
from multiarch.autoscaling.node_labels import NodeLabels, node_labels
from multiarch.facts.labels import EKS_NODE_GROUP, HOSTNAME, ZONE
from multiarch.facts.taints import Effect
from multiarch.nodes.model import NodeGroupPlan
from multiarch.scheduling.pods import Pod
from multiarch.simulate.batches import mentioned
from multiarch.simulate.live import Live
from multiarch.simulate.model import Batch

_COUNTED = ("nvidia.com/gpu", "aws.amazon.com/neuron", "hugepages-")


def notes_on(
    plan: AutoscalingPlan,
    groups: Sequence[NodeGroupPlan],
    batches: Sequence[Batch],
    daemons: Sequence[Pod],
    *,
    zones_assumed: str,
    live: Live | None = None,
    region: str | None = None,
) -> tuple[str, ...]:
    """Return one sentence for each thing that could make the cluster behave otherwise, those that apply."""
    keys = {key for batch in batches for key in mentioned(batch.sample.spec)}
    return (
        *(_about_nodes(groups, daemons) if live is None else _about_live_nodes(plan, live)),
        *_about_sizes(groups),
        *_about_zones(batches, keys, assumed=zones_assumed),
        *_about_labels(_labels(plan, groups, region), keys),
        *_about_resources(batches),
        *_about_cluster_autoscaler(plan),
        *_about_karpenter(plan, batches),
    )


def _about_nodes(groups: Sequence[NodeGroupPlan], daemons: Sequence[Pod]) -> Iterator[str]:
    if any(group.sizes.desired for group in groups):
        yield (
            "The nodes that are there are the groups' desired sizes, without any pod but those in the files; --pending "
            "counts a live cluster's."
        )
    if not daemons:
        yield (
            "No DaemonSet is in the files; those of EKS add-ons (aws-node, kube-proxy) take room and a pod's place on "
            "every node. `kubectl get daemonsets -A -o yaml` writes them for a further --pods."
        )


def _about_live_nodes(plan: AutoscalingPlan, live: Live) -> Iterator[str]:
    if live.nodes:
        yield (
            "The nodes that are there have no room, as kube-scheduler found it; they count towards maxSize alone. "
            "Pods that run on them are not seen by topology spread constraints and pod affinity, and CPU and memory "
            "are those of new nodes."
        )
    if live.others:
        which = "1 node" if live.others == 1 else f"{live.others} nodes"
        yield f"Not counted: {which} of no managed group or NodePool of the stack (self-managed groups' among them)."
    if plan.karpenter is not None and any(
        name in {pool.name for pool in plan.karpenter.pools} for name, _ in live.nodes
    ):
        yield "What Karpenter's nodes that are there use of their NodePools' limits is not counted."
    yield "Nodes that are starting, and pods that preemption would make room for, are not taken into account."


def _about_sizes(groups: Sequence[NodeGroupPlan]) -> Iterator[str]:
    yield "Memory of a node is an estimate on the low side: 7.5 % less than EC2 names, as Karpenter assumes."
    mixed = sorted(group.name for group in groups if len({(t.vcpus, t.memory_mib) for t in group.instance_types}) > 1)
    if mixed:
        yield f"Instance types of {', '.join(mixed)} differ in size; each node is taken for one of the first type."


def _about_zones(batches: Sequence[Batch], keys: set[str], *, assumed: str) -> Iterator[str]:
    if not assumed:
        return
    yield assumed
    if ZONE in keys:
        names = sorted(batch.name for batch in batches if ZONE in set(mentioned(batch.sample.spec)))
        yield f"{', '.join(names)} name zones, and are judged wrongly until the stack names its own (network.zones)."


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
        yield f"Which instances have {', '.join(uncounted)} is not in the tables here; they count as having none."


def _about_cluster_autoscaler(plan: AutoscalingPlan) -> Iterator[str]:
    if plan.cluster_autoscaler is None:
        return
    yield (
        "The cluster autoscaler: groups that are alike are not balanced (--balance-similar-node-groups); of groups "
        "that tie in priority and waste it takes any, here the first by name, and of zones that are equally full one "
        "that helps; while a group has no node it takes an instance's whole capacity for allocatable and its first "
        "zone for all."
    )
    yield "Scale-down, unfulfilled spot requests and instances that EC2 does not have are not simulated."


def _about_karpenter(plan: AutoscalingPlan, batches: Sequence[Batch]) -> Iterator[str]:
    if plan.karpenter is None:
        return
    yield (
        "Karpenter: pool, capacity type and architecture follow from its rules, the instance type from prices, which "
        "are not known here; the smallest type that holds a node's pods is named, and counted against limits."
    )
    yield (
        "Karpenter orders pods of one size by age, here by their place in the files, and takes any of several zones, "
        "or of both architectures in a pool that has them, that are equally empty; with more than 12 planned nodes of "
        "equal pods it takes any."
    )
    yield (
        "Karpenter gives a planned node any label that its pods narrow to one value, such as one by NotIn and another "
        "by In; here a node has the labels of its NodePool and its type alone."
    )
    recounted = sorted(batch.name for batch in batches if _counted_anew(plan.karpenter, batch.sample))
    if recounted:
        yield (
            f"{', '.join(recounted)}: once Karpenter gives up a wish of taints (PreferNoSchedule) or a required "
            "affinity term for a pod, it does not count for its topology spread the pods that it planned before; "
            "kube-scheduler leaves those that are too many waiting, until Karpenter's next round. Here the spread "
            "holds at once."
        )
    both = sorted(
        pool.name for pool in plan.karpenter.pools if len({kind.architecture for kind in pool.capacities}) > 1
    )
    if both:
        yield (
            f"{', '.join(both)}: of two architectures; where neither the pods nor their room on a type decide, prices "
            "do when a node is bought, and here a type of the more wanted one is named."
        )
    yield "kube-scheduler may bind a pod to another node with room than the one that was planned for it."
    if plan.use is Autoscaler.KARPENTER:
        yield "Consolidation, interruptions and instances that EC2 does not have are not simulated."


def _counted_anew(karpenter: KarpenterPlan, pod: Pod) -> bool:
    """Whether a pod is spread, and Karpenter may relax what its spread counts by."""
    wishes = any(taint.effect is Effect.PREFER_NO_SCHEDULE for pool in karpenter.pools for taint in pool.taints)
    return bool(pod.spec.spread) and (wishes or len(pod.spec.affinity.required or ()) > 1)
