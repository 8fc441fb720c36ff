"""Generated from multiarch/schema/nodes.py by ``make generate``: arguments of components."""

from typing import NotRequired, TypedDict


class AmiSettings(TypedDict):
    """Which image release, exactly. Without it AWS's "recommended" of the day is used, and `stack check` says so."""

    release: NotRequired[str]
    """The EKS AMI release of a managed group, such as `1.35.0-20260715`. `multiarch stack pin` writes it."""

    id: NotRequired[str]
    """An AMI: your own, or the pinned EKS image of a self-managed group. The user data then owns the whole bootstrap.
    """


class AmiByArchitectureSettings(TypedDict):
    """Image releases for each half of a multi-architecture group."""

    amd64: NotRequired[AmiSettings]
    """The amd64 half's image."""

    arm64: NotRequired[AmiSettings]
    """The arm64 half's image."""


class BootstrapSettings(TypedDict):
    """What happens on the node before and when the kubelet starts."""

    mode: NotRequired[str]
    """Who starts the kubelet. Derived: `eks` for a managed group without `ami.id`, else `user-data`. Written down, it
    is checked. One of eks, user-data.
    """

    preBootstrap: NotRequired[str]
    """A shell script that runs before the kubelet starts (AL2, AL2023). It must not start the kubelet itself."""

    kubeletExtraArgs: NotRequired[list[str]]
    """More kubelet flags, such as `--image-gc-low-threshold=60`. Labels and taints have their own keys."""


class InstanceTypesByArchitectureSettings(TypedDict):
    """Instance types for each half of a multi-architecture group."""

    amd64: list[str]
    """amd64 instance types."""

    arm64: list[str]
    """arm64 (Graviton) instance types."""


class UpdateStrategySettings(TypedDict):
    """How nodes are replaced. One of the two limits; default: maxUnavailable 1."""

    maxUnavailable: NotRequired[int]
    """Nodes that may be away at once."""

    maxUnavailablePercentage: NotRequired[int]
    """The same in per cent of the group."""

    force: NotRequired[bool]
    """Managed groups: go on when a PodDisruptionBudget does not let a pod leave. Default: false."""


class MultiArchitectureGroupSettings(TypedDict):
    """Two node groups, `NAME-amd64` and `NAME-arm64`, alike but for the architecture.

    Both carry the stack's arm64Taint, so that only pods that tolerate it, those with images for both architectures,
    land there, and those may use either half. Sizes count for each half.
    """

    kind: NotRequired[str]
    """`managed`: an EKS managed node group. `self-managed`: an Auto Scaling Group whose user data bootstraps the node.
    One of managed, self-managed. Default: managed.
    """

    capacityType: NotRequired[str]
    """Spot capacity is cheaper and can be taken back within two minutes; give it several instance types. One of on-
    demand, spot. Default: on-demand.
    """

    minSize: NotRequired[int]
    """Fewest nodes. Default: 1."""

    desiredSize: NotRequired[int]
    """Nodes at creation; afterwards an autoscaler's business, and a change here is ignored. Default: minSize."""

    maxSize: NotRequired[int]
    """Most nodes. Default: 3."""

    amiFamily: NotRequired[str]
    """Operating system. Default: the stack's `amiFamily`. One of AL2, AL2023, Bottlerocket."""

    diskSize: NotRequired[int]
    """Root (Bottlerocket: data) volume in GiB, at least the image's own 20; encrypted gp3. Default: 50."""

    labels: NotRequired[dict[str, str]]
    """Node labels."""

    taints: NotRequired[list[str]]
    """Taints as kubectl writes them, `key=value:NoSchedule`; the arm64 taint is added automatically."""

    arm64Taint: NotRequired[bool]
    """Carry the stack's `arm64Taint` (arm64 groups, and both halves of a multi-architecture group). Default: true."""

    bootstrap: NotRequired[BootstrapSettings]
    """What happens before and when the kubelet starts."""

    maxPods: NotRequired[int]
    """Pods per node. Default: what the VPC CNI can address on the smallest of the group's instance types."""

    imdsHopLimit: NotRequired[int]
    """Hops to the instance metadata service: 1 keeps pods away from the node's role. IMDSv2 is always required.
    Default: 1.
    """

    updateStrategy: NotRequired[UpdateStrategySettings]
    """How nodes are replaced."""

    zones: NotRequired[list[str]]
    """Only these availability zones (names) of the network's. Default: all."""

    onePerZone: NotRequired[bool]
    """One group for each zone, named NAME-a, NAME-b …, each with these sizes, in place of one group over all zones.
    The cluster autoscaler judges all nodes of a group by one zone, so pods that need a certain zone, for a volume
    or by affinity, need this. Default: one group.
    """

    instanceTypes: InstanceTypesByArchitectureSettings
    """EC2 instance types for each architecture."""

    ami: NotRequired[AmiByArchitectureSettings]
    """Which image releases, exactly."""


class NodeGroupSettings(TypedDict):
    """A node group of one architecture, which follows from its instance types."""

    kind: NotRequired[str]
    """`managed`: an EKS managed node group. `self-managed`: an Auto Scaling Group whose user data bootstraps the node.
    One of managed, self-managed. Default: managed.
    """

    capacityType: NotRequired[str]
    """Spot capacity is cheaper and can be taken back within two minutes; give it several instance types. One of on-
    demand, spot. Default: on-demand.
    """

    minSize: NotRequired[int]
    """Fewest nodes. Default: 1."""

    desiredSize: NotRequired[int]
    """Nodes at creation; afterwards an autoscaler's business, and a change here is ignored. Default: minSize."""

    maxSize: NotRequired[int]
    """Most nodes. Default: 3."""

    amiFamily: NotRequired[str]
    """Operating system. Default: the stack's `amiFamily`. One of AL2, AL2023, Bottlerocket."""

    diskSize: NotRequired[int]
    """Root (Bottlerocket: data) volume in GiB, at least the image's own 20; encrypted gp3. Default: 50."""

    labels: NotRequired[dict[str, str]]
    """Node labels."""

    taints: NotRequired[list[str]]
    """Taints as kubectl writes them, `key=value:NoSchedule`; the arm64 taint is added automatically."""

    arm64Taint: NotRequired[bool]
    """Carry the stack's `arm64Taint` (arm64 groups, and both halves of a multi-architecture group). Default: true."""

    bootstrap: NotRequired[BootstrapSettings]
    """What happens before and when the kubelet starts."""

    maxPods: NotRequired[int]
    """Pods per node. Default: what the VPC CNI can address on the smallest of the group's instance types."""

    imdsHopLimit: NotRequired[int]
    """Hops to the instance metadata service: 1 keeps pods away from the node's role. IMDSv2 is always required.
    Default: 1.
    """

    updateStrategy: NotRequired[UpdateStrategySettings]
    """How nodes are replaced."""

    zones: NotRequired[list[str]]
    """Only these availability zones (names) of the network's. Default: all."""

    onePerZone: NotRequired[bool]
    """One group for each zone, named NAME-a, NAME-b …, each with these sizes, in place of one group over all zones.
    The cluster autoscaler judges all nodes of a group by one zone, so pods that need a certain zone, for a volume
    or by affinity, need this. Default: one group.
    """

    instanceTypes: list[str]
    """EC2 instance types, in order of preference, all of one architecture."""

    amiType: NotRequired[str]
    """The EKS API's amiType, where the derived one is not wanted, such as `BOTTLEROCKET_ARM_64_FIPS`. It is checked
    against the instance types.
    """

    ami: NotRequired[AmiSettings]
    """Which image release, exactly."""
