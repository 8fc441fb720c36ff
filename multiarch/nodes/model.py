"""A node group's plan: frozen values that components, simulation and audits read."""

from __future__ import annotations

import re
from enum import StrEnum
from math import ceil, floor

from multiarch.facts.ami_families import AmiFamily, AmiType
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType
from multiarch.facts.node_resources import DEFAULT_RESERVATIONS, Reservations
from multiarch.facts.taints import Taint
from multiarch.frozen import dataclass
from multiarch.manifests.values import Labels

__all__ = ["BootstrapCase", "CapacityType", "KubeletPlan", "NodeGroupKind", "NodeGroupPlan", "Sizes"]

Tags = tuple[tuple[str, str], ...]
"""AWS tags, sorted by key: hashable, and the same bytes every time."""

CLUSTER_TAG = "multiarch-eks/cluster"
"""On everything that a stack makes in EC2: the name of the cluster."""
GROUP_TAG = "multiarch-eks/node-group"
"""On the instances of a node group: its name in the plan."""


class NodeGroupKind(StrEnum):
    """An EKS managed node group, or an Auto Scaling Group that the stack declares."""

    MANAGED = "managed"
    SELF_MANAGED = "self-managed"


class CapacityType(StrEnum):
    """How capacity is bought, in Karpenter's spelling; the EKS API writes ``ON_DEMAND`` and ``SPOT``."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"
    """On-demand capacity that a reservation holds, for Karpenter's NodePools alone; it costs the on-demand price."""

    @property
    def eks(self) -> str:
        """The EKS API's spelling."""
        return self.name


class BootstrapCase(StrEnum):
    """Who starts the kubelet; the user data differs in each case.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
    """

    EKS = "eks"
    """Managed without a custom AMI: EKS merges the user data with its own, and sets taints through its API."""
    CUSTOM_AMI = "custom-ami"
    """Managed with an AMI in the launch template: the user data runs the bootstrap; taints also go through the API."""
    SELF_MANAGED = "self-managed"
    """An Auto Scaling Group: the user data runs the bootstrap, taints and labels are kubelet flags."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of nodes, min <= desired <= max."""

    minimum: int
    desired: int
    maximum: int


@dataclass(frozen=True, slots=True)
class AmiSource:
    """The image: an ID, a release, or, with neither, the image that AWS currently recommends.

    With an ID, ``release`` says which EKS release it is; an image of the team's own has none. ``ssm_parameter`` names
    the public parameter that holds the recommended image's ID.
    """

    id: str | None
    release: str | None
    ssm_parameter: str

    @property
    def pinned(self) -> bool:
        """Whether later previews give the same image."""
        return self.id is not None or self.release is not None


@dataclass(frozen=True, slots=True)
class Update:
    """How nodes are replaced; exactly one of the two limits is set."""

    max_unavailable: int | None
    max_unavailable_percentage: int | None
    force: bool


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived value and the rule behind it, for ``stack explain``."""

    key: str
    value: str
    rule: str


KubeletValue = int | str | tuple[tuple[str, str], ...]
Mirrors = tuple[tuple[str, tuple[str, ...]], ...]
"""URLs by the host of a registry, sorted by host."""


@dataclass(frozen=True, slots=True)
class KubeletPlan:
    """``config`` has the fields of KubeletConfiguration that the stack sets, with its names; the rest is EKS's."""

    config: tuple[tuple[str, KubeletValue], ...] = ()
    reservations: Reservations = DEFAULT_RESERVATIONS


NO_SETTINGS = KubeletPlan()


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of a spot group: ``base`` nodes are on-demand, and ``percentage`` of the others; EC2's ``strategy`` for spot."""

    base: int
    percentage: int
    strategy: str

    @property
    def capacity_types(self) -> tuple[CapacityType, ...]:
        """How the nodes are bought: in one way or in both."""
        parts = ((CapacityType.ON_DEMAND, self.base or self.percentage), (CapacityType.SPOT, 100 - self.percentage))
        return tuple(kind for kind, part in parts if part)

    def split(self, nodes: int) -> dict[CapacityType, int]:
        """Return how many of a number of nodes EC2 Auto Scaling buys on-demand, and how many as spot.

        Fractions of the share count as on-demand. Source: EC2 Auto Scaling user guide, "Auto Scaling groups with
        multiple instance types and purchase options".
        """
        on_demand = min(nodes, self.base) + ceil(max(0, nodes - self.base) * self.percentage / 100)
        return {CapacityType.ON_DEMAND: on_demand, CapacityType.SPOT: nodes - on_demand}


SPOT_ALONE = Distribution(0, 0, "price-capacity-optimized")


@dataclass(frozen=True, slots=True)
class NodeGroupPlan:
    """A node group of one architecture, which is derived once, from ``instance_types``.

    ``path`` is its place in the stack file (``nodeGroups``, ``api``), ``name`` its name in the plan. ``name_prefix``
    begins the name of the EKS node group (``NAME-``) or Auto Scaling Group (``CLUSTER-NAME-``), and
    ``launch_template_prefix`` (``CLUSTER-NAME-``) that of the launch template: AWS adds a suffix, because a replacement
    is created before the old group is deleted. ``disk_size`` is in GiB. ``pre_bootstrap`` is a shell script or empty.
    ``max_pods`` is the kubelet's limit; ``max_pods_written`` says whether the user data has to set it (because the team
    did, or because the node would compute another number). ``instance_store``: images and pods are on local disks.
    ``capacity_reservation`` is an ID, the ARN of a resource group or EC2's preference, empty for EC2's default.
    ``efa``: its nodes have EFA interfaces, on the network cards that all of its instance types have for them.
    """

    path: tuple[str, ...]
    name: str
    name_prefix: str
    launch_template_prefix: str
    kind: NodeGroupKind
    case: BootstrapCase
    architecture: Architecture
    instance_types: tuple[InstanceType, ...]
    ami_type: AmiType
    ami: AmiSource
    capacity_type: CapacityType
    sizes: Sizes
    labels: Labels
    taints: tuple[Taint, ...]
    max_pods: int
    max_pods_written: bool
    disk_size: int
    imds_hop_limit: int
    update: Update
    zones: tuple[str, ...]
    pre_bootstrap: str
    kubelet_extra_args: tuple[str, ...]
    derived: tuple[Derived, ...]
    kubelet: KubeletPlan = NO_SETTINGS
    registry_mirrors: Mirrors = ()
    instance_store: bool = False
    node_repair: bool | None = None
    capacity_reservation: str = ""
    placement_group: str = ""
    efa: bool = False
    distribution: Distribution = SPOT_ALONE

    def split(self, nodes: int) -> dict[CapacityType, int]:
        """Return how many of a number of nodes are bought on-demand, and how many as spot."""
        if self.capacity_type is CapacityType.SPOT:
            return self.distribution.split(nodes)
        return {CapacityType.ON_DEMAND: nodes, CapacityType.SPOT: 0}

    @property
    def mixed(self) -> bool:
        """Whether the group buys nodes in both ways."""
        return len(self.distribution.capacity_types) > 1

    @property
    def bought(self) -> str:
        """How its nodes are bought, in words."""
        if not self.mixed:
            return str(self.capacity_type)
        return f"spot, with {self.distribution.base} + {self.distribution.percentage} % on-demand"

    @property
    def key(self) -> str:
        """The path as text: ``nodeGroups.api``."""
        return ".".join(self.path)

    @property
    def made_name(self) -> re.Pattern[str]:
        """Matches ``name_prefix`` with AWS's suffix: digits, or hexadecimal digits from a stand-in for AWS."""
        return re.compile(re.escape(self.name_prefix) + "[0-9a-f]+")

    @property
    def min_healthy_percentage(self) -> int:
        """The percentage of the group that stays in service during an instance refresh.

        A number of nodes is converted with the maximum size, so that no smaller size replaces more nodes at once; at
        100 the refresh takes one node at a time. Source: EC2 Auto Scaling user guide, "Understand the default values
        for an instance refresh".
        """
        if self.update.max_unavailable_percentage is not None:
            return 100 - self.update.max_unavailable_percentage
        return max(0, 100 - floor(100 * (self.update.max_unavailable or 1) / self.sizes.maximum))

    @property
    def family(self) -> AmiFamily:
        """The operating system's family."""
        return self.ami_type.family


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What user data needs to know about the cluster; known only once the control plane exists.

    ``certificate_authority`` is base64 PEM, as EKS gives it; ``service_cidr`` the Services' CIDR block.
    """

    name: str
    endpoint: str
    certificate_authority: str
    service_cidr: str
