"""The autoscalers' plans: frozen values that components and simulation read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType
from multiarch.facts.taints import Taint
from multiarch.frozen import dataclass
from multiarch.manifests.values import Labels
from multiarch.nodes.model import NO_SETTINGS, CapacityType, Derived, KubeletPlan, Mirrors, Tags

if TYPE_CHECKING:  # it loads the schema of stack files
    from multiarch.schema.autoscaling import ClusterAutoscaler, Karpenter

__all__ = ["AutoModePlan", "Autoscaler", "AutoscalingPlan", "ClusterAutoscalerPlan", "KarpenterPlan", "NodePoolPlan"]


class Autoscaler(StrEnum):
    """The autoscaler that adds nodes."""

    NONE = "none"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"
    AUTO_MODE = "auto-mode"


@dataclass(frozen=True, slots=True, order=True)
class Capacity:
    """An architecture with a capacity type, written ``arm64-spot``: one entry of the order of preference."""

    architecture: Architecture
    capacity_type: CapacityType

    def __str__(self) -> str:
        """``ARCHITECTURE-CAPACITYTYPE``."""
        return f"{self.architecture}-{self.capacity_type}"


def order_capacities(architecture: Architecture, *, reserved: bool = False) -> tuple[Capacity, ...]:
    """Return all capacities: the preferred architecture first, and for each architecture spot before on-demand.

    With ``reserved``, reserved capacity of both comes first: it is paid for in any case.
    """
    architectures = sorted(Architecture, key=lambda each: each is not architecture)
    bought = (CapacityType.SPOT, CapacityType.ON_DEMAND)
    return (
        *(Capacity(each, CapacityType.RESERVED) for each in architectures if reserved),
        *(Capacity(each, kind) for each in architectures for kind in bought),
    )


def list_bases(order: Sequence[Capacity]) -> tuple[int, ...]:
    """Return a priority for each position in the order, with room between them; ``reserved`` makes more positions."""
    return (90, 75, 60, 45, 30, 15) if len(order) > len(_BASES) else _BASES


_BASES = (90, 70, 50, 30)


def parse_capacity(text: str) -> Capacity:
    """Read ``arm64-spot``. Raises ValueError for any other string."""
    architecture, _, capacity_type = text.partition("-")
    return Capacity(Architecture(architecture), CapacityType(capacity_type))


def rank_capacity(capacity: Capacity, order: Sequence[Capacity]) -> int:
    """Return the position of a capacity in the order, from 0; capacities that ``order`` omits come after its last."""
    return order.index(capacity) if capacity in order else len(order)


def describe_rank(capacity: Capacity, order: Sequence[Capacity]) -> str:
    """Return the position of a capacity in the order in words, from 1."""
    if capacity not in order:
        return f"{capacity} is not in the order: last"
    return f"{capacity} is number {order.index(capacity) + 1} in the order"


@dataclass(frozen=True, slots=True)
class Priority:
    """One line of the priority expander's map: the higher ``priority`` wins.

    ``regex`` (RE2, with anchors) matches the names of ``group``'s Auto Scaling Group and of no other. ``rule`` says
    where the priority is from.
    """

    priority: int
    group: str
    regex: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class ClusterAutoscalerPlan:
    """The cluster autoscaler. ``image_tag`` has the cluster's minor.

    ``priorities`` are sorted, highest first; ``tags`` are those of each group's Auto Scaling Group, by group name.
    While a stack migrates away from this autoscaler, ``cordoned`` names the groups that the migration removes (lowest
    priority), and the autoscaler ignores new pods for ``scale_up_delay_seconds`` (``--new-pod-scale-up-delay``), so
    that the new one comes first; 0 otherwise. ``not_balanced``: pairs of similar groups with different priorities,
    which balancing would join. An autoscaler that is installed also manages groups of others.
    """

    settings: ClusterAutoscaler
    chart_version: str
    image_tag: str
    priorities: tuple[Priority, ...]
    tags: tuple[tuple[str, Tags], ...]
    cordoned: tuple[str, ...] = ()
    scale_up_delay_seconds: int = 0
    not_balanced: tuple[tuple[str, str], ...] = ()

    @property
    def balance_similar(self) -> bool:
        """Whether similar groups share new nodes (``--balance-similar-node-groups``)."""
        return not self.not_balanced


def build_scale_down_arguments(plan: ClusterAutoscalerPlan) -> dict[str, str]:
    """Return the cluster autoscaler's flags that say when it removes a node, as text."""
    settings = plan.settings
    return {
        "scale-down-unneeded-time": f"{settings.scale_down_unneeded_minutes}m",
        "scale-down-delay-after-add": f"{settings.scale_down_delay_after_add_minutes}m",
        "scale-down-utilization-threshold": f"{settings.scale_down_utilization_percent / 100:.2f}",
    }


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a NodePool; ``operator`` is In or Gt in a plan, and any string in a program's resource."""

    key: str
    operator: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        """Return ``kubernetes.io/arch In arm64``."""
        return f"{self.key} {self.operator} {', '.join(self.values)}".rstrip()


@dataclass(frozen=True, slots=True)
class Budget:
    """One disruption budget: ``nodes`` is a number or per cent; ``schedule`` (cron, UTC) goes with ``duration``."""

    nodes: str
    schedule: str | None
    duration: str | None


@dataclass(frozen=True, slots=True)
class NodePoolPlan:
    """One NodePool, of Karpenter or of EKS Auto Mode (``auto_mode``).

    ``key`` is its path in the stack file; ``node_class`` is its node class's name; ``kinds`` are the capacities it
    may buy, one but for a multi-architecture pool, and all of one capacity type; ``instance_types`` are the types of
    the table of facts that satisfy the requirements, sorted by name; ``cpu_limit`` is in vCPUs (0 while a migration
    removes the pool: Karpenter adds no nodes and keeps the existing ones), ``memory_limit`` is a Kubernetes
    quantity; times are Go durations. Without ``termination_grace_period`` a node waits for its pods
    without limit. ``weight_rule`` says where the weight is from.
    """

    key: str
    name: str
    weight: int
    weight_rule: str
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
    auto_mode: bool = False

    @property
    def reserved(self) -> bool:
        """Whether its nodes run in capacity reservations."""
        return self.capacities[0].capacity_type is CapacityType.RESERVED

    @property
    def owner(self) -> str:
        """Who adds its nodes, in words."""
        return "EKS Auto Mode" if self.auto_mode else "Karpenter"


@dataclass(frozen=True, slots=True)
class NodeClassPlan:
    """The node class that all pools share. ``ami_alias`` resolves both architectures; ``disk_size`` in GiB.

    Of EKS Auto Mode's NodeClass AWS chooses the alias, which is empty here.

    ``subnet_ids`` are those of an existing network; without them, subnets are found by the stack's tag. ``role`` is the
    name of the nodes' role, empty where the stack makes one. ``custom_networking``: pods have subnets of their own.
    ``capacity_reservations`` are IDs, sorted.
    """

    name: str
    ami_family: str
    ami_alias: str
    disk_size: int
    imds_hop_limit: int
    max_pods: int | None
    subnet_ids: tuple[str, ...] = ()
    role: str = ""
    kubelet: KubeletPlan = NO_SETTINGS
    registry_mirrors: Mirrors = ()
    instance_store: bool = False
    capacity_reservations: tuple[str, ...] = ()
    placement_group: str = ""
    custom_networking: bool = False


@dataclass(frozen=True, slots=True)
class KarpenterPlan:
    """Karpenter. ``controller_group`` is the managed node group that the controller runs on; ``queue`` a name.

    Version, group and queue are empty where the cluster has the controller (``installed``). ``cordoned``: a stack
    migrates away from Karpenter, and its pools add no nodes. ``isolated``: it can't reach IAM, and the node class has
    an instance profile in place of a role.
    """

    settings: Karpenter
    chart_version: str
    queue: str
    controller_group: str
    node_class: NodeClassPlan
    pools: tuple[NodePoolPlan, ...]
    cordoned: bool = False
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class AutoModePlan:
    """EKS Auto Mode. ``tagged``: the cluster's role may put the stack's tags on instances."""

    node_class: NodeClassPlan
    pools: tuple[NodePoolPlan, ...]
    tagged: bool = True


@dataclass(frozen=True, slots=True)
class AutoscalingPlan:
    """One autoscaler, two while a stack moves from one to the other, or none.

    ``use`` is the autoscaler in use, the new one during a migration; ``order`` the capacities, the preferred ones
    first; ``derived`` are the derived values with their rules, for ``stack explain``.
    """

    use: Autoscaler
    order: tuple[Capacity, ...]
    cluster_autoscaler: ClusterAutoscalerPlan | None
    karpenter: KarpenterPlan | None
    derived: tuple[Derived, ...] = ()
    auto_mode: AutoModePlan | None = None

    @property
    def pool_owner(self) -> KarpenterPlan | AutoModePlan | None:
        """What adds nodes of NodePools: Karpenter or EKS Auto Mode, never both."""
        return self.karpenter or self.auto_mode

    @property
    def pools(self) -> tuple[NodePoolPlan, ...]:
        """All NodePools."""
        return self.pool_owner.pools if self.pool_owner else ()

    @property
    def own(self) -> frozenset[Autoscaler]:
        """The autoscalers that the stack installs."""
        plans = {Autoscaler.CLUSTER_AUTOSCALER: self.cluster_autoscaler, Autoscaler.KARPENTER: self.karpenter}
        return frozenset(name for name, plan in plans.items() if plan and not plan.settings.installed)

    @property
    def pool_names(self) -> frozenset[str]:
        """The names of the NodePools."""
        return frozenset(pool.name for pool in self.pools)

    def with_pools(self, pools: tuple[NodePoolPlan, ...]) -> AutoscalingPlan:
        """Return the plan with other NodePools."""
        if self.auto_mode:
            return replace(self, auto_mode=replace(self.auto_mode, pools=pools))
        return replace(self, karpenter=replace(self.karpenter, pools=pools)) if self.karpenter else self
