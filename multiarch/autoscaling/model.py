"""What the autoscalers are given, derived once: the frozen values that components and simulator read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType
from multiarch.facts.taints import Taint
from multiarch.manifests.values import Labels
from multiarch.nodes.model import CapacityType, Derived, Tags

__all__ = ["Autoscaler", "AutoscalingPlan", "ClusterAutoscalerPlan", "KarpenterPlan", "NodePoolPlan"]


class Autoscaler(StrEnum):
    """Who adds nodes."""

    NONE = "none"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"


@dataclass(frozen=True, slots=True, order=True)
class Capacity:
    """One kind of capacity, written ``arm64-spot``: what an order of preference is made of."""

    architecture: Architecture
    capacity_type: CapacityType

    def __str__(self) -> str:
        """``ARCHITECTURE-CAPACITYTYPE``."""
        return f"{self.architecture}-{self.capacity_type}"


@dataclass(frozen=True, slots=True)
class Priority:
    """One line of the priority expander's map: the higher ``priority`` wins.

    ``regex`` (RE2, unanchored by itself, so it carries its own anchors) matches the Auto Scaling Group names of
    ``group`` and of no other.
    """

    priority: int
    group: str
    regex: str


@dataclass(frozen=True, slots=True)
class ScaleDown:
    """When the cluster autoscaler takes a node away: minutes unneeded, minutes after a scale-up, per cent in use."""

    unneeded_minutes: int
    delay_after_add_minutes: int
    utilization_percent: int


@dataclass(frozen=True, slots=True)
class ClusterAutoscalerPlan:
    """The cluster autoscaler. ``image_tag`` has the cluster's minor.

    ``priorities`` are sorted, highest first; ``tags`` are per group (name), for its Auto Scaling Group. While a stack
    leaves this autoscaler, ``cordoned`` names the groups that a migration takes out (lowest priority), and a pod has
    to wait for ``scale_up_delay_seconds`` before this autoscaler looks at it (``--new-pod-scale-up-delay``), so that
    the new one comes first; 0 otherwise. ``balance_similar`` says whether groups that are alike may share what is
    added.
    """

    chart_version: str
    image_tag: str
    priorities: tuple[Priority, ...]
    tags: tuple[tuple[str, Tags], ...]
    scale_down: ScaleDown
    service_monitor: bool
    cordoned: tuple[str, ...] = ()
    scale_up_delay_seconds: int = 0
    balance_similar: bool = True


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a NodePool; ``operator`` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Budget:
    """One disruption budget: ``nodes`` is a number or per cent; ``schedule`` (cron, UTC) goes with ``duration``."""

    nodes: str
    schedule: str | None
    duration: str | None


@dataclass(frozen=True, slots=True)
class NodePoolPlan:
    """One Karpenter NodePool.

    ``key`` is its path in the stack file; ``node_class`` is its EC2NodeClass's name; ``kinds`` are the capacities it
    may buy, one but for a multi-architecture pool, and all of one capacity type; ``instance_types`` are the types of
    the table of facts that satisfy the requirements, sorted by name; ``cpu_limit`` is in vCPUs (0 while a migration
    takes the pool out: Karpenter adds no node, and leaves those that are there), ``memory_limit`` is a Kubernetes
    quantity; times are Go durations. Without ``termination_grace_period`` a node waits for its pods as long as it
    takes.
    """

    key: str
    name: str
    weight: int
    capacities: tuple[Capacity, ...]
    requirements: tuple[Requirement, ...]
    instance_types: tuple[InstanceType, ...]
    labels: Labels
    taints: tuple[Taint, ...]
    node_class: str
    cpu_limit: int | None
    memory_limit: str | None
    budgets: tuple[Budget, ...]
    consolidation_policy: str
    consolidate_after: str
    expire_after: str
    termination_grace_period: str | None = None


@dataclass(frozen=True, slots=True)
class NodeClassPlan:
    """The EC2NodeClass that all pools share. ``ami_alias`` resolves both architectures; ``disk_size`` in GiB.

    ``subnet_ids`` are those of an existing network; with none, subnets are found by the stack's own tag.
    """

    name: str
    ami_family: str
    ami_alias: str
    disk_size: int
    imds_hop_limit: int
    max_pods: int | None
    subnet_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KarpenterPlan:
    """Karpenter. ``controller_group`` is the managed node group that the controller runs on; ``queue`` a name.

    ``cordoned``: a stack is leaving Karpenter, and its pools add no node.
    """

    chart_version: str
    queue: str
    controller_group: str
    node_class: NodeClassPlan
    pools: tuple[NodePoolPlan, ...]
    service_monitor: bool = False
    cordoned: bool = False


@dataclass(frozen=True, slots=True)
class AutoscalingPlan:
    """Either autoscaler, both while a stack moves from one to the other, or neither.

    ``use`` is where the stack is going; ``order`` the kinds of capacity, most wanted first; ``derived`` says for
    ``stack explain`` what follows by which rule.
    """

    use: Autoscaler
    order: tuple[Capacity, ...]
    cluster_autoscaler: ClusterAutoscalerPlan | None
    karpenter: KarpenterPlan | None
    derived: tuple[Derived, ...] = ()
