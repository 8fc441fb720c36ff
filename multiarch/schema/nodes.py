"""Node groups, of one architecture or of both."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from multiarch.facts.ami_families import NODE_FAMILIES
from multiarch.schema.base import AWS_ID, Section, TaintText, get_section_default, reject_duplicates, take_form
from multiarch.schema.kubelet import InstanceStorePolicy, Kubelet, PlacementGroup

if TYPE_CHECKING:
    AmiFamilyName = str
else:
    AmiFamilyName = Literal[tuple(map(str, NODE_FAMILIES))]
KUBELET_FLAG = r"^--[a-z][a-z0-9-]*(=[!#-&(-\[\]-~]*)?$"
"""A flag of ``kubeletExtraArgs``.

It passes through an environment variable of a systemd unit, on AL2 (``bootstrap.sh``) and AL2023 (nodeadm's
``internal/kubelet/environment.go``): white space ends a flag there, quotes and backslashes are interpreted.
"""
_KubeletFlag = Annotated[
    str, take_form(KUBELET_FLAG, "a flag, --name=value, of ASCII without spaces, quotes and backslashes")
]
InstanceTypes = Annotated[list[str], Field(min_length=1, max_length=20), AfterValidator(reject_duplicates)]


class Ami(Section):
    """Which image, exactly. Without it AWS's "recommended" of the day is used, and ``stack check`` says so."""

    release: str | None = None
    """The EKS release of the image, such as ``1.35.0-20260715``. ``multiarch stack pin`` writes it beside ``id``. Alone
    it is for managed groups, and holds until the next change of their launch template.
    """
    id: Annotated[str, take_form(f"^ami-{AWS_ID}$", "the ID of an image, such as ami-0123456789abcdef0")] | None = None
    """The AMI: EKS's image of ``release``, which ``multiarch stack pin`` writes, or your own. The user data then owns
    the whole bootstrap.
    """


class Bootstrap(Section):
    """What happens on the node before and when the kubelet starts."""

    mode: Literal["eks", "user-data"] | None = None
    """Who starts the kubelet. Derived: ``eks`` for a managed group without ``ami.id``, else ``user-data``. Written
    down, it is checked.
    """
    pre_bootstrap: str | None = None
    """A shell script that runs before the kubelet starts (AL2, AL2023). It must not start the kubelet itself."""
    kubelet_extra_args: list[_KubeletFlag] = []
    """More kubelet flags, such as ``--image-gc-low-threshold=60``. Labels and taints have their own keys."""


class UpdateStrategy(Section):
    """How nodes are replaced. One of the two limits; default: maxUnavailable 1."""

    max_unavailable: Annotated[int, Field(ge=1, le=100)] | None = None
    """Maximum number of unavailable nodes during an update."""
    max_unavailable_percentage: Annotated[int, Field(ge=1, le=100)] | None = None
    """The same in per cent of the group."""
    force: bool = False
    """Managed groups: go on when a PodDisruptionBudget does not let a pod leave."""


class InstancesDistribution(Section):
    """What EC2 Auto Scaling buys of a self-managed spot group: on-demand nodes first, then a share of the others."""

    on_demand_base_capacity: Annotated[int, Field(ge=0)] = 0
    """The number of nodes that are on-demand before any is spot."""
    on_demand_percentage_above_base_capacity: Annotated[int, Field(ge=0, le=99)] = 0
    """The share of on-demand nodes among those above the base, in per cent. Fractions are rounded up."""
    spot_allocation_strategy: Literal[
        "price-capacity-optimized", "capacity-optimized", "capacity-optimized-prioritized", "lowest-price"
    ] = "price-capacity-optimized"
    """How EC2 chooses among the instance types for spot nodes."""


class NodeGroupBase(Section):
    """What single-architecture and multi-architecture groups have in common."""

    kind: Literal["managed", "self-managed"] = "managed"
    """``managed``: an EKS managed node group. ``self-managed``: an Auto Scaling Group whose user data bootstraps
    the node.
    """
    capacity_type: Literal["on-demand", "spot"] = "on-demand"
    """Spot capacity is cheaper and can be taken back within two minutes; give it several instance types."""
    min_size: Annotated[int, Field(ge=0)] = 1
    """Fewest nodes."""
    desired_size: Annotated[int, Field(ge=0)] | None = None
    """Initial number of nodes. Ignored after creation. Default: minSize."""
    max_size: Annotated[int, Field(ge=1)] = 3
    """Maximum number of nodes."""
    ami_family: AmiFamilyName | None = None
    """Operating system. Default: the stack's ``amiFamily``."""
    disk_size: Annotated[int, Field(ge=20, le=16384)] = 50
    """Root (Bottlerocket: data) volume in GiB, at least the image's own 20; encrypted gp3."""
    instance_store_policy: InstanceStorePolicy | None = None
    """``RAID0`` joins the local NVMe disks of types such as m7gd, and puts images, logs and volumes of pods (emptyDir)
    on them (AL2023, Bottlerocket). They end with the instance.
    """
    capacity_reservation: (
        Annotated[str, Field(examples=["cr-0123456789abcdef0", "open", "capacity-reservations-only", "none"])] | None
    ) = None
    """The capacity reservation of its instances: an ID, the ARN of a resource group, ``capacity-reservations-only``
    (any open one of their type and zone, or no instance), ``open`` (such a one, or else on-demand) or ``none``.
    Default: EC2's, which is ``open``.
    """
    placement_group: PlacementGroup | None = None
    """The name of a placement group, which exists already, for its instances. One with the strategy cluster is in one
    zone: name that in ``zones``.
    """
    efa: bool = False
    """Give each node all the EFA interfaces (Elastic Fabric Adapter) of its instance type (AL2023, Bottlerocket). Pods
    request them as ``vpc.amazonaws.com/efa``, which ``efaDevicePlugin`` reports. EFA traffic stays in one zone: name it
    in ``zones``.
    """
    instances_distribution: InstancesDistribution = get_section_default(InstancesDistribution)
    """On-demand nodes among those of a self-managed spot group."""
    labels: dict[str, str] = {}
    """Node labels."""
    taints: Annotated[list[TaintText], Field(max_length=49)] = []
    """Taints as kubectl writes them, ``key=value:NoSchedule``; the arm64 taint is added automatically."""
    arm64_taint: bool = True
    """Carry the stack's ``arm64Taint`` (arm64 groups, and both halves of a multi-architecture group)."""
    bootstrap: Bootstrap = get_section_default(Bootstrap)
    """What happens before and when the kubelet starts."""
    kubelet: Kubelet = get_section_default(Kubelet)
    """Settings of the kubelet."""
    max_pods: Annotated[int, Field(ge=4, le=1514)] | None = None
    """Pods per node. Default: what the VPC CNI can address on the smallest of the group's instance types."""
    imds_hop_limit: Annotated[int, Field(ge=1, le=64)] = 1
    """Hops to the instance metadata service: 1 keeps pods away from the node's role. IMDSv2 is always required."""
    update_strategy: UpdateStrategy = get_section_default(UpdateStrategy)
    """How nodes are replaced."""
    zones: Annotated[list[str], Field(min_length=1)] | None = None
    """Only these availability zones (names) of the network's. Default: all."""
    one_per_zone: bool | None = None
    """One group for each zone, named NAME-a, NAME-b …, each with these sizes, in place of one group over all zones. The
    cluster autoscaler judges all nodes of a group by one zone, so pods that need a certain zone, for a volume or by
    affinity, need this. Default: one group.
    """


class NodeGroup(NodeGroupBase):
    """A node group of one architecture, which follows from its instance types."""

    instance_types: InstanceTypes
    """EC2 instance types, in order of preference, all of one architecture."""
    ami_type: str | None = None
    """The EKS API's amiType, where the derived one is not wanted, such as ``BOTTLEROCKET_ARM_64_FIPS``. It is
    checked against the instance types.
    """
    ami: Ami = get_section_default(Ami)
    """Which image, exactly."""


class InstanceTypesByArchitecture(Section):
    """Instance types for each half of a multi-architecture group."""

    amd64: InstanceTypes
    """amd64 instance types."""
    arm64: InstanceTypes
    """arm64 (Graviton) instance types."""


class AmiByArchitecture(Section):
    """Images for each half of a multi-architecture group."""

    amd64: Ami = get_section_default(Ami)
    """The amd64 half's image."""
    arm64: Ami = get_section_default(Ami)
    """The arm64 half's image."""


class MultiArchitectureGroup(NodeGroupBase):
    """Two node groups, ``NAME-amd64`` and ``NAME-arm64``, alike but for the architecture.

    Both carry the stack's arm64Taint, so that only pods that tolerate it, those with images for both
    architectures, land there, and those may use either half. Sizes count for each half.
    """

    instance_types: InstanceTypesByArchitecture
    """EC2 instance types for each architecture."""
    ami: AmiByArchitecture = get_section_default(AmiByArchitecture)
    """Which images, exactly."""
