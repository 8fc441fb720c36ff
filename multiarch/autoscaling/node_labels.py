"""The labels of nodes: those of a node group or a NodePool, for simulation, audits and Auto Scaling tags.

A node's taints are its group's or pool's own, :attr:`NodeGroupPlan.taints` and :attr:`NodePoolPlan.taints`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from multiarch.autoscaling import selection
from multiarch.autoscaling.model import NodePoolPlan
from multiarch.facts import labels as keys
from multiarch.facts.instance_types import InstanceType
from multiarch.facts.partitions import find_zone_region
from multiarch.frozen import dataclass
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan

_EKS_DOMAINS = ("eks.amazonaws.com",)
# The kubelet, AWS's cloud provider, EKS, Karpenter, CSI drivers and agents such as GPU feature discovery.
_SET_BY_OTHERS = ("kubernetes.io", "k8s.io", "k8s.aws", "amazonaws.com", "csi.aws.com", "karpenter.sh", "nvidia.com")
_NEVER = (
    keys.EKS_COMPUTE_TYPE,
    # A group's own label, if it has one.
    keys.EKS_ACCELERATOR,
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
)


@dataclass(frozen=True, slots=True)
class NodeLabels:
    """Labels of a node that does not exist yet: ``known`` with their values, and labels with unknown values."""

    known: Mapping[str, str]
    _absent: tuple[str, ...]

    def is_unknown(self, key: str) -> bool:
        """Return whether the node may carry a label with this key whose value is not known before the node exists.

        Of a label that is neither known nor unknown it is certain that the node does not carry it.
        """
        if key in self.known or key in _NEVER or key in self._absent or keys.is_in_domains(key, self._absent):
            return False
        return keys.is_in_domains(key, _SET_BY_OTHERS)


def build_node_labels(
    owner: NodeGroupPlan | NodePoolPlan, instance: InstanceType, *, zone: str | None = None, region: str | None = None
) -> NodeLabels:
    """Return the labels of a node of a node group or NodePool, on an instance type, in a zone.

    Without ``zone`` and ``region`` the labels for them are unknown; a zone's name gives its region. The host name, a
    managed group's name at EKS (which AWS completes) and its image are always unknown.

    The kubelet and AWS's cloud provider set architecture, operating system, instance type, region and zone, each with
    its deprecated name; a group's and a pool's own labels come through the kubelet, EKS or Karpenter.
    Sources: those of :mod:`multiarch.facts.labels`; kubernetes, ``pkg/kubelet/kubelet_node_status.go``;
    cloud-provider-aws, ``pkg/providers/v2/instances.go``; karpenter-provider-aws,
    ``pkg/providers/instancetype/types.go``.
    """
    region = region or (find_zone_region(zone) if zone else None)
    standard = {
        keys.ARCHITECTURE: str(instance.architecture),
        keys.OPERATING_SYSTEM: "linux",
        keys.INSTANCE_TYPE: instance.name,
        **({keys.REGION: region} if region else {}),
        **({keys.ZONE: zone} if zone else {}),
    }
    own = build_group_labels(owner) if isinstance(owner, NodeGroupPlan) else _pool_labels(owner, instance)
    if isinstance(owner, NodePoolPlan):
        of_type = selection.list_absent_labels(instance, auto_mode=owner.auto_mode)
        absent = (*(() if owner.auto_mode else _EKS_DOMAINS), *of_type)
    else:
        absent = (*(() if owner.kind is NodeGroupKind.MANAGED else _EKS_DOMAINS), *keys.KARPENTER_DOMAINS)
    return NodeLabels(keys.with_deprecated({**standard, **own}), absent)


def build_group_labels(group: NodeGroupPlan) -> dict[str, str]:
    """Return the labels that nodes get from their node group, on any instance type."""
    if group.kind is NodeGroupKind.SELF_MANAGED:
        return dict(group.labels)
    return {keys.EKS_CAPACITY_TYPE: group.capacity_type.eks, **dict(group.labels)}


def find_region(zones: Iterable[str]) -> str | None:
    """Return the region that all zones are in, by their names; None where the names do not tell."""
    regions = set(map(find_zone_region, zones))
    return regions.pop() if len(regions) == 1 else None


def _pool_labels(pool: NodePoolPlan, instance: InstanceType) -> dict[str, str]:
    single = {
        key: next(iter(values)) for key, values in selection.list_type_labels(instance).items() if len(values) == 1
    }
    of_type = {
        **{key: value for key, value in single.items() if value},
        keys.KARPENTER_CPU: str(instance.vcpus),
        keys.KARPENTER_MEMORY: str(instance.memory_mib),
    }
    own = {keys.KARPENTER_NODE_CLASS: pool.node_class}
    if pool.auto_mode:
        own = {keys.AUTO_MODE_NODE_CLASS: pool.node_class, keys.EKS_COMPUTE_TYPE: "auto"}
    return {
        **{selection.get_label(key, auto_mode=pool.auto_mode): value for key, value in of_type.items()},
        **own,
        keys.KARPENTER_CAPACITY_TYPE: str(pool.capacities[0].capacity_type),
        keys.KARPENTER_NODE_POOL: pool.name,
        keys.KARPENTER_REGISTERED: "true",
        keys.KARPENTER_INITIALIZED: "true",
        **dict(pool.labels),
    }
