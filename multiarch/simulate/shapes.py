"""The nodes that node groups and NodePools add: labels, taints and allocatable resources of each instance type."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType

from multiarch.autoscaling.model import NodeClassPlan, NodePoolPlan
from multiarch.autoscaling.node_labels import build_node_labels, find_region
from multiarch.facts.ami_families import AmiFamily, get_family
from multiarch.facts.auto_mode import compute_auto_mode_pods
from multiarch.facts.instance_types import InstanceType, compute_max_pods
from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.facts.node_resources import MIB, compute_disk, get_allocatable
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan
from multiarch.nodes.resources import get_node_resources
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.resources import ResourceAmounts

_SUFFIX = "20260101000000000000000001"


def build_group_shape(
    group: NodeGroupPlan, zones: tuple[str, ...], *, region: str | None = None, names: Collection[str] = ()
) -> NodeShape:
    """Build a node of a group's first type, as the cluster autoscaler assumes, with the least any type gives.

    ``names`` are the names of node groups at EKS that pods request: one that can be this group's is taken for its name.
    """
    instance = group.instance_types[0]
    given = get_node_resources(group)
    asked = sorted(name for name in names if group.made_name.fullmatch(name))
    more = (
        {EKS_NODE_GROUP: asked[0] if asked else f"{group.name_prefix}{_SUFFIX}"}
        if group.kind is NodeGroupKind.MANAGED
        else {}
    )
    return _shape(group, instance, given, zones=group.zones or zones, region=region, more=more)


def get_group_capacity(group: NodeGroupPlan) -> ResourceAmounts:
    """Return what a node of a group has before the kubelet's reservations; by this the least-waste expander counts."""
    instance = group.instance_types[0]
    devices = {name: amount for name, amount in get_allocatable(instance, pods=0, disk_gib=0).items() if "/" in name}
    return ResourceAmounts(
        cpu=instance.vcpus * 1000,
        memory=instance.memory_mib * MIB,
        ephemeral_storage=compute_disk(instance, group.disk_size, instance_store=group.instance_store),
        pods=group.max_pods,
        extended=tuple(sorted(devices.items())),
    )


def build_pool_shape(
    pool: NodePoolPlan,
    node_class: NodeClassPlan,
    instance: InstanceType,
    zones: tuple[str, ...],
    *,
    region: str | None = None,
) -> NodeShape:
    """Return a node of a NodePool on one of its instance types."""
    pods = node_class.max_pods or compute_max_pods(instance, custom_networking=node_class.custom_networking)
    pods = compute_auto_mode_pods(instance) if pool.auto_mode else pods
    reserve = pods if get_family(AmiFamily(node_class.ami_family)).reserves_by_max_pods else None
    given = get_allocatable(
        instance,
        pods=pods,
        disk_gib=node_class.disk_size,
        instance_store=node_class.instance_store,
        reserve_for=reserve,
        reservations=node_class.kubelet.reservations,
        # Karpenter gives an instance all of its EFA interfaces once a pod requests one.
        efa=True,
    )
    return _shape(pool, instance, given, zones=zones, region=region, more={})


@lru_cache(maxsize=32)
def build_pool_shapes(
    pool: NodePoolPlan, node_class: NodeClassPlan, zones: tuple[str, ...], region: str | None
) -> Mapping[str, NodeShape]:
    """Build a NodePool's node of each of its instance types, by the type's name. Cached: every failure needs them."""
    return MappingProxyType(
        {each.name: build_pool_shape(pool, node_class, each, zones, region=region) for each in pool.instance_types}
    )


def _shape(
    owner: NodeGroupPlan | NodePoolPlan,
    instance: InstanceType,
    given: Mapping[str, int],
    *,
    zones: tuple[str, ...],
    region: str | None,
    more: Mapping[str, str],
) -> NodeShape:
    labels = {**build_node_labels(owner, instance, region=region or find_region(zones)).known, **more}
    return NodeShape(
        name=owner.name,
        architecture=instance.architecture,
        allocatable=ResourceAmounts.whole(given),
        labels=tuple(sorted(labels.items())),
        taints=owner.taints,
        zones=zones,
    )
