"""Generated from multiarch/schema/autoscaling.py by ``make generate``: arguments of components."""

from typing import NotRequired, TypedDict


class ClusterAutoscalerSettings(TypedDict):
    """The cluster autoscaler, where `autoscaling.use` is `cluster-autoscaler`."""

    priorities: NotRequired[dict[str, int]]
    """Priorities of single groups, by name, where the order of capacities is not enough. The higher wins; 1 or more."""

    scaleDownUnneededMinutes: NotRequired[int]
    """A node is taken away after this long below the utilization. Default: 10."""

    scaleDownDelayAfterAddMinutes: NotRequired[int]
    """No node is taken away for this long after one was added. Default: 10."""

    scaleDownUtilizationPercent: NotRequired[int]
    """Below this share of requested CPU and memory a node counts as unneeded. Default: 50."""

    serviceMonitor: NotRequired[bool]
    """Declare a ServiceMonitor for Prometheus' operator, whose CRDs must be there. Default: false."""


class QuietHoursSettings(TypedDict):
    """When Karpenter neither consolidates nodes nor replaces them after a change; expiry does not wait for it."""

    schedule: str
    """The beginning, as cron in UTC: `0 8 * * mon-fri`."""

    duration: str
    """How long, such as `10h` or `8h30m`."""


class NodePoolSettings(TypedDict):
    """Settings of NodePools: they become one NodePool per architecture and capacity type, or a single one for both."""

    architectures: NotRequired[list[str]]
    """Which architectures."""

    capacityTypes: NotRequired[list[str]]
    """How capacity may be bought."""

    multiArchitecture: NotRequired[bool]
    """One NodePool per capacity type for both architectures, with the arm64 taint on all of its nodes. Default: false.
    """

    categories: NotRequired[list[str]]
    """Instance categories, the letters before the generation."""

    families: NotRequired[list[str]]
    """Only these families, such as m7g; in place of categories and generation."""

    instanceTypes: NotRequired[list[str]]
    """Only these types; in place of categories, generation, families and sizes."""

    minGeneration: NotRequired[int]
    """The oldest generation. Default: 6."""

    sizes: NotRequired[list[str]]
    """Only these sizes, such as large and xlarge. Default: any but bare metal."""

    zones: NotRequired[list[str]]
    """Only these zones. Default: those of the private subnets."""

    labels: NotRequired[dict[str, str]]
    """Node labels."""

    taints: NotRequired[list[str]]
    """Taints as kubectl writes them; the arm64 taint is added automatically."""

    arm64Taint: NotRequired[bool]
    """Carry the stack's arm64Taint on arm64 nodes. Default: true."""

    weight: NotRequired[int]
    """The weight, where the order of capacities is not enough; only for one architecture and one capacity type."""

    cpuLimit: NotRequired[int]
    """The most vCPUs of each NodePool."""

    memoryLimit: NotRequired[str]
    """The most memory of each NodePool, such as 512Gi."""

    budget: NotRequired[str]
    """Nodes that may be disrupted at once, a number or per cent. Default: 10%."""

    quietHours: NotRequired[QuietHoursSettings]
    """When no node is consolidated or replaced after a change. Expiry and interruptions of spot nodes go on."""

    consolidation: NotRequired[str]
    """Which nodes Karpenter removes to save cost: those without pods, or also those whose pods fit on other nodes or
    on a cheaper new node. A spot node is replaced by a cheaper spot node only with `spotToSpotConsolidation`. One
    of WhenEmpty, WhenEmptyOrUnderutilized. Default: WhenEmptyOrUnderutilized.
    """

    consolidateAfter: NotRequired[str]
    """How long a node is left alone after its pods changed; `Never` turns consolidation off. Default: 1m."""

    expireAfter: NotRequired[str]
    """The age at which a node is replaced, an hour or more; `Never` keeps it. Neither `budget` nor `quietHours` delays
    it. Default: 720h.
    """

    terminationGracePeriod: NotRequired[str]
    """How long a terminating node waits for its pods, such as 48h; then they are deleted, even against
    PodDisruptionBudgets and `karpenter.sh/do-not-disrupt`. Default: no limit.
    """


class KarpenterSettings(TypedDict):
    """Karpenter, where `autoscaling.use` is `karpenter`."""

    version: NotRequired[str]
    """The version of its charts, such as 1.14.1, where the pinned one is not wanted yet."""

    controllerGroup: NotRequired[str]
    """The managed node group that runs the controller. Default: the only one that it can run on."""

    amiAlias: NotRequired[str]
    """The image release for all pools, such as `al2023@v20260715`; `multiarch stack pin` writes it."""

    diskSize: NotRequired[int]
    """Volume in GiB; encrypted gp3. Default: 50."""

    imdsHopLimit: NotRequired[int]
    """Hops to the instance metadata service. Default: 1."""

    serviceMonitor: NotRequired[bool]
    """Declare a ServiceMonitor for Prometheus' operator, whose CRDs must be there. Default: false."""

    spotToSpotConsolidation: NotRequired[bool]
    """Replace spot nodes by cheaper spot nodes too: Karpenter's feature gate SpotToSpotConsolidation, which is alpha.
    It needs pools with 15 instance types or more. Default: false.
    """

    nodePools: NotRequired[dict[str, NodePoolSettings]]
    """NodePool settings by name. Default: one, `general`, with everything's default."""


class AutoscalingSettings(TypedDict):
    """Who adds nodes, and which are wanted first. The same settings drive both autoscalers."""

    use: NotRequired[str]
    """The autoscaler. One of none, cluster-autoscaler, karpenter. Default: none."""

    prefer: NotRequired[str]
    """The architecture that is tried first: its spot, then its on-demand capacity, then the other's. One of arm64,
    amd64. Default: arm64.
    """

    order: NotRequired[list[str]]
    """All kinds of capacity in order, where `prefer` is not enough, such as [arm64-on-demand, amd64-on-demand].
    Karpenter buys no others; node groups of others come last.
    """

    migrateFrom: NotRequired[str]
    """The autoscaler that is being left: both are installed, the old one's capacity is the last to be chosen. One of
    cluster-autoscaler, karpenter.
    """

    clusterAutoscaler: NotRequired[ClusterAutoscalerSettings]
    """The cluster autoscaler's settings."""

    karpenter: NotRequired[KarpenterSettings]
    """Karpenter's settings."""
