"""The groups of a plan as what their nodes must be like, and which group an instance or a Node belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from multiarch.autoscaling.image import get_alias, is_pinned
from multiarch.autoscaling.model import NodeClassPlan, NodePoolPlan
from multiarch.autoscaling.node_labels import build_node_labels
from multiarch.facts import labels as keys
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType
from multiarch.facts.taints import Taint
from multiarch.nodes.model import CLUSTER_TAG, GROUP_TAG, BootstrapCase, NodeGroupPlan
from multiarch.stack.model import Plan

EKS_GROUP_TAG = "eks:nodegroup-name"
SCALING_GROUP_TAG = "aws:autoscaling:groupName"
CLUSTER_TAGS = (CLUSTER_TAG, "eks:cluster-name", "aws:eks:cluster-name", "eks:eks-cluster-name")
"""Tags that name the cluster of an instance: the stack's, EKS's and Karpenter's."""
AUTO_MODE_POOL_TAG = "eks:kubernetes-node-pool-name"
"""On instances of EKS Auto Mode. Source: EKS user guide, "Learn about identity and access in EKS Auto Mode"."""
_CLUSTER_PREFIX = "kubernetes.io/cluster/"
_SET_ELSEWHERE = frozenset((keys.ARCHITECTURE, keys.INSTANCE_TYPE, keys.ZONE, *keys.REPLACED_BY))
"""Labels that are compared with EC2, and their deprecated names."""
_KARPENTER_LABELS = frozenset((keys.KARPENTER_NODE_POOL, keys.KARPENTER_CAPACITY_TYPE))
"""Of the labels that Karpenter sets, those that say which nodes a pod gets."""


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """A node group or NodePool. ``ami_id`` and ``release`` (``v20260715``, ``v1.52.0``) are empty if not written.

    ``registers``: its kubelets themselves must register with the taints, because nobody else adds them.
    """

    owner: NodeGroupPlan | NodePoolPlan
    family: AmiFamily
    ami_id: str = ""
    release: str = ""
    registers: bool = True

    @property
    def name(self) -> str:
        """The plan's name for it."""
        return self.owner.name

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints of its nodes."""
        return self.owner.taints

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """One, or both of a multi-architecture pool."""
        if isinstance(self.owner, NodeGroupPlan):
            return (self.owner.architecture,)
        return tuple(sorted({each.architecture for each in self.owner.capacities}))

    def type_named(self, name: str) -> InstanceType | None:
        """Return one of its instance types, None if it does not have this one."""
        return next((each for each in self.owner.instance_types if each.name == name), None)

    def labels(self, instance: InstanceType, region: str | None) -> dict[str, str]:
        """Return the labels that a node must have besides those that EC2 decides.

        Labels of Karpenter and EKS Auto Mode for what an instance type is are omitted: they change with the version.
        """
        known = build_node_labels(self.owner, instance, region=region).known
        return {
            key: value
            for key, value in known.items()
            if key not in _SET_ELSEWHERE and (key in _KARPENTER_LABELS or not _of_autoscaler(key))
        }


def _of_autoscaler(key: str) -> bool:
    return keys.is_in_domains(key, keys.KARPENTER_DOMAINS) or key.startswith("eks.amazonaws.com/instance-")


def list_planned_groups(plan: Plan) -> tuple[PlannedGroup, ...]:
    """Return the node groups and NodePools of a plan, sorted by name."""
    found = [_node_group(group) for group in plan.node_groups]
    if owner := plan.autoscaling.pool_owner:
        found += [_pool(pool, owner.node_class) for pool in owner.pools]
    return tuple(sorted(found, key=lambda each: each.name))


def _node_group(group: NodeGroupPlan) -> PlannedGroup:
    return PlannedGroup(
        group,
        group.family,
        group.ami.id or "",
        _release(get_alias(group.family, group.ami.release)) if group.ami.release else "",
        # EKS adds the taints of its API to nodes that it bootstraps itself.
        registers=group.case is not BootstrapCase.EKS,
    )


def _pool(pool: NodePoolPlan, node_class: NodeClassPlan) -> PlannedGroup:
    alias = node_class.ami_alias
    release = _release(alias) if alias and is_pinned(alias) else ""
    # Karpenter's nodes register with its own taint, and get the pool's when Karpenter takes that off.
    return PlannedGroup(pool, AmiFamily(node_class.ami_family), release=release, registers=False)


def _release(alias: str) -> str:
    """Name a version as AMIs do: ``v20260715`` of ``al2023@v20260715``, ``v1.52.0`` of ``bottlerocket@1.52.0``."""
    return f"v{alias.partition('@')[2].removeprefix('v')}"


def list_clusters(tags: Mapping[str, str]) -> frozenset[str]:
    """Return the clusters that these tags of an instance name."""
    named = {key.removeprefix(_CLUSTER_PREFIX) for key in tags if key.startswith(_CLUSTER_PREFIX)}
    return frozenset(named | {tags[key] for key in CLUSTER_TAGS if key in tags})


def find_group(
    planned: Iterable[PlannedGroup], tags: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[PlannedGroup | None, str]:
    """Return the group of an instance with these tags and a Node with these labels, and the name that these give it.

    The name is empty where neither says one.
    """
    groups = {each.name: each for each in planned}
    pool = (
        tags.get(keys.KARPENTER_NODE_POOL) or tags.get(AUTO_MODE_POOL_TAG) or labels.get(keys.KARPENTER_NODE_POOL, "")
    )
    if pool:
        found = groups.get(pool)
        return (found if found and isinstance(found.owner, NodePoolPlan) else None), pool
    if (own := tags.get(GROUP_TAG, "")) in groups:
        return groups[own], own
    made = tags.get(EKS_GROUP_TAG) or labels.get(keys.EKS_NODE_GROUP) or tags.get(SCALING_GROUP_TAG, "")
    for each in groups.values():
        if isinstance(each.owner, NodeGroupPlan) and made and each.owner.made_name.fullmatch(made):
            return each, each.name
    return None, own or made
