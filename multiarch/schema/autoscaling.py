"""The autoscalers."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from multiarch.schema.base import Label, Section, TaintText, get_section_default, reject_duplicates, take_form
from multiarch.schema.kubelet import InstanceStorePolicy, Kubelet, PlacementGroup

KindName = Literal["arm64-reserved", "arm64-spot", "arm64-on-demand", "amd64-reserved", "amd64-spot", "amd64-on-demand"]
_Bought = Literal["on-demand", "spot"]
_NUMBER = "(0|[1-9][0-9]{0,5})"
_VERSION = rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}$"
_Reservation = Annotated[
    str, take_form("^cr-[0-9a-f]+$", "the ID of a capacity reservation, such as cr-0123456789abcdef0")
]
_PoolName = Annotated[
    str,
    # It becomes a label value, with the longest capacity appended: -arm64-on-demand.
    take_form(
        "^[a-z0-9]([-.a-z0-9]{0,45}[a-z0-9])?$",
        "at most 47 lower-case letters, digits, '-' and '.', a letter or digit first and last",
    ),
]
Order = Annotated[list[KindName], Field(min_length=1), AfterValidator(reject_duplicates)]


class ClusterAutoscaler(Section):
    """The cluster autoscaler, where ``autoscaling.use`` is ``cluster-autoscaler``."""

    installed: bool = False
    """The existing cluster has one already. The stack then adds its priorities and the tags of the node groups; its
    owner sets the flags that ``multiarch stack explain`` shows.
    """
    namespace: Label = "kube-system"
    """The namespace of an installed autoscaler, its flag ``--namespace``: there it reads its priorities."""
    priorities: dict[str, Annotated[int, Field(ge=1)]] = {}
    """Priorities of single groups, by name, where the order of capacities is not enough. The higher wins; 1 or more."""
    scale_down_unneeded_minutes: Annotated[int, Field(ge=1, le=1440)] = 10
    """A node is taken away after this long below the utilization."""
    scale_down_delay_after_add_minutes: Annotated[int, Field(ge=0, le=1440)] = 10
    """No node is taken away for this long after one was added."""
    scale_down_utilization_percent: Annotated[int, Field(ge=1, le=99)] = 50
    """Below this share of requested CPU and memory a node counts as unneeded."""
    service_monitor: bool = False
    """Declare a ServiceMonitor for Prometheus' operator, whose CRDs must be there."""


class QuietHours(Section):
    """When Karpenter neither consolidates nodes nor replaces them after a change; expiry does not wait for it."""

    schedule: str
    """The beginning, as cron in UTC: ``0 8 * * mon-fri``."""
    duration: str
    """How long, such as ``10h`` or ``8h30m``."""


class NodePool(Section):
    """Settings of NodePools: they become one NodePool per architecture and capacity type, or a single one for both."""

    architectures: Annotated[list[Literal["amd64", "arm64"]], Field(min_length=1)] = ["arm64", "amd64"]
    """Which architectures. Beside NodePools that an existing cluster may have, the default is arm64 alone."""
    capacity_types: Annotated[list[Literal[_Bought, "reserved"]], Field(min_length=1)] = ["spot", "on-demand"]
    """How capacity may be bought. ``reserved`` is that of karpenter.capacityReservations, and needs instanceTypes."""
    multi_architecture: bool = False
    """One NodePool per capacity type for both architectures, with the arm64 taint on all of its nodes."""
    categories: Annotated[list[str], Field(min_length=1)] = ["c", "m", "r"]
    """Instance categories, the letters before the generation."""
    families: list[str] = []
    """Only these families, such as m7g; in place of categories and generation."""
    instance_types: list[str] = []
    """Only these types; in place of categories, generation, families and sizes."""
    min_generation: Annotated[int, Field(ge=1, le=20)] = 6
    """The oldest generation."""
    sizes: list[str] = []
    """Only these sizes, such as large and xlarge. Default: any but bare metal."""
    zones: list[str] = []
    """Only these zones. Default: those of the private subnets."""
    labels: dict[str, str] = {}
    """Node labels."""
    taints: list[TaintText] = []
    """Taints as kubectl writes them; the arm64 taint is added automatically."""
    arm64_taint: bool = True
    """Carry the stack's arm64Taint on arm64 nodes."""
    weight: Annotated[int, Field(ge=1, le=100)] | None = None
    """The weight, where the order of capacities is not enough; only for one architecture and one capacity type. Weights
    that follow from the order are 90, 70, 50 and 30, minus the number of the entry in nodePools, sorted by name from 0:
    a weight between them comes between these pools. With ``reserved`` they are 90, 75, 60, 45, 30 and 15.
    """
    cpu_limit: Annotated[int, Field(ge=1)] | None = None
    """The most vCPUs of each NodePool."""
    memory_limit: str | None = None
    """The most memory of each NodePool, such as 512Gi."""
    budget: Annotated[
        str, take_form("^((100|[0-9]{1,2})%|[0-9]+)$", "a number of nodes or a percentage, such as 2 or 10%")
    ] = "10%"
    """Nodes that may be disrupted at once, a number or per cent."""
    quiet_hours: QuietHours | None = None
    """When no node is consolidated or replaced after a change. Expiry and interruptions of spot nodes go on."""
    consolidation: Literal["WhenEmpty", "WhenEmptyOrUnderutilized"] = "WhenEmptyOrUnderutilized"
    """Which nodes Karpenter removes to save cost: those without pods, or also those whose pods fit on other nodes or on
    a cheaper new node. A spot node is replaced by a cheaper spot node only with ``spotToSpotConsolidation``.
    """
    consolidate_after: str = "1m"
    """How long a node is left alone after its pods changed; ``Never`` turns consolidation off."""
    expire_after: str = "720h"
    """The age at which a node is replaced, an hour or more; ``Never`` keeps it. Neither ``budget`` nor ``quietHours``
    delays it.
    """
    termination_grace_period: str | None = None
    """How long a terminating node waits for its pods, such as 48h; then they are deleted, even against
    PodDisruptionBudgets and ``karpenter.sh/do-not-disrupt``. Default: no limit.
    """


class Karpenter(Section):
    """Karpenter, where ``autoscaling.use`` is ``karpenter``."""

    installed: bool = False
    """The existing cluster has Karpenter already. The stack then adds an EC2NodeClass and NodePools."""
    node_role: str | None = None
    """The name of the IAM role of the nodes, which the installed controller may pass. Required with ``installed``."""
    version: Annotated[str, take_form(_VERSION, "a version of three numbers, such as 1.14.1")] | None = None
    """The version of its charts, such as 1.14.1, where the pinned one is not wanted yet."""
    controller_group: str | None = None
    """The managed node group that runs the controller. Default: the only one that it can run on."""
    ami_alias: str | None = None
    """The image release for all pools, such as ``al2023@v20260715``; ``multiarch stack pin`` writes it."""
    disk_size: Annotated[int, Field(ge=20, le=16384)] = 50
    """Volume in GiB; encrypted gp3."""
    instance_store_policy: InstanceStorePolicy | None = None
    """``RAID0`` puts images, logs and volumes of pods (emptyDir) on the local NVMe disks of nodes that have some."""
    capacity_reservations: Annotated[list[_Reservation], Field(max_length=30), AfterValidator(reject_duplicates)] = []
    """IDs of the capacity reservations that pools with the capacity type ``reserved`` use."""
    placement_group: PlacementGroup | None = None
    """The name of a placement group, which exists already, for all of its nodes."""
    imds_hop_limit: Annotated[int, Field(ge=1, le=64)] = 1
    """Hops to the instance metadata service."""
    kubelet: Kubelet = get_section_default(Kubelet)
    """Settings of the kubelet on all of its nodes."""
    service_monitor: bool = False
    """Declare a ServiceMonitor for Prometheus' operator, whose CRDs must be there."""
    isolated_vpc: Annotated[bool | None, Field(alias="isolatedVPC")] = None
    """The controller can't reach AWS services without VPC endpoints: IAM and the price list. Nodes then get an instance
    profile of the stack, and on-demand prices are those that the release of Karpenter brings. Default: true with
    ``network.nat: none``, otherwise false.
    """
    spot_to_spot_consolidation: bool = False
    """Replace spot nodes by cheaper spot nodes too: Karpenter's feature gate SpotToSpotConsolidation, which is alpha.
    It needs pools with 15 instance types or more.
    """
    node_pools: Annotated[dict[_PoolName, NodePool], Field(max_length=20)] = {}
    """NodePool settings by name. Default: one, ``general``, with everything's default."""


class AutoModeNodePool(NodePool):
    """Settings of NodePools of EKS Auto Mode, whose nodes live for 21 days at most."""

    capacity_types: Annotated[list[_Bought], Field(min_length=1)] = ["spot", "on-demand"]  # type: ignore[assignment]
    """How capacity may be bought."""
    expire_after: str = "336h"
    """The age at which a node is replaced, an hour or more. With ``terminationGracePeriod`` 504h at most."""
    termination_grace_period: str | None = None
    """How long a terminating node waits for its pods, such as 48h; then they are deleted, even against
    PodDisruptionBudgets and ``karpenter.sh/do-not-disrupt``. Default: EKS's, 24h.
    """


class AutoMode(Section):
    """EKS Auto Mode, where ``autoscaling.use`` is ``auto-mode``: AWS runs the autoscaler and the nodes' software."""

    node_role: str | None = None
    """The name of an IAM role that nodes of the existing cluster run under, which has its access entry. Default: a role
    of the stack.
    """
    node_pools: Annotated[dict[_PoolName, AutoModeNodePool], Field(max_length=20)] = {}
    """NodePool settings by name. Default: one, ``general``, with everything's default."""


class Autoscaling(Section):
    """Who adds nodes, and which are wanted first. The same settings drive all autoscalers."""

    use: Literal["none", "cluster-autoscaler", "karpenter", "auto-mode"] = "none"
    """The autoscaler; ``auto-mode`` is that of EKS Auto Mode."""
    prefer: Literal["arm64", "amd64"] = "arm64"
    """The architecture that is tried first: its spot, then its on-demand capacity, then the other's. Reserved capacity
    of both comes before, since it costs the same without a node.
    """
    order: Order | None = None
    """All kinds of capacity in order, where ``prefer`` is not enough, such as [arm64-on-demand, amd64-on-demand].
    NodePools buy no others; node groups of others come last.
    """
    migrate_from: Literal["cluster-autoscaler", "karpenter"] | None = None
    """The autoscaler that is being left: both are installed, the old one's capacity is the last to be chosen."""
    cluster_autoscaler: ClusterAutoscaler = get_section_default(ClusterAutoscaler)
    """The cluster autoscaler's settings."""
    karpenter: Karpenter = get_section_default(Karpenter)
    """Karpenter's settings."""
    auto_mode: AutoMode = get_section_default(AutoMode)
    """EKS Auto Mode's settings."""
