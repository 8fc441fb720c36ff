"""Generated from multiarch/schema/parts.py by ``make generate``: arguments of components."""

from typing import Any, NotRequired, TypedDict

import pulumi

from .autoscaling import NodePoolSettings
from .nodes import (
    AmiSettings,
    BootstrapSettings,
    MultiArchitectureGroupSettings,
    NodeGroupSettings,
    UpdateStrategySettings,
)


class ControllerClusterSettings(TypedDict):
    """The EKS cluster that a controller runs in. It needs the Pod Identity agent."""

    name: str
    """The cluster's name; the names and tags of all resources have it."""

    kubernetesVersion: str
    """The cluster's Kubernetes minor version, such as "1.35"."""

    arm64Taint: NotRequired[str]
    """The taint of arm64 nodes, `key=value:Effect`, or `none`. The same for all components of a cluster. Default:
    arch=arm64:NoSchedule.
    """

    prefixDelegation: NotRequired[bool]
    """Whether the VPC CNI gives nodes /28 prefixes instead of single addresses. Default: false."""

    kubeconfig: pulumi.Input[str]
    """A kubeconfig with which Pulumi reaches the Kubernetes API."""


class ClusterAutoscalerArgs(TypedDict):
    """The cluster autoscaler in a cluster that is there already, for groups with `clusterAutoscaler: true`."""

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

    cluster: ControllerClusterSettings
    """The cluster that it runs in."""

    nodeGroups: NotRequired[dict[str, NodeGroupSettings]]
    """The node groups that it manages, by name, with the arguments that each was declared with: priorities follow from
    their architectures and capacity types.
    """

    multiArchitectureGroups: NotRequired[dict[str, MultiArchitectureGroupSettings]]
    """Pairs of node groups that it manages, by name."""

    prefer: NotRequired[str]
    """The architecture that is tried first: its spot, then its on-demand capacity, then the other's. One of arm64,
    amd64. Default: arm64.
    """

    order: NotRequired[list[str]]
    """All kinds of capacity in order, where `prefer` is not enough."""

    amiFamily: NotRequired[str]
    """The operating system of groups that do not name their own. One of AL2, AL2023, Bottlerocket. Default: AL2023."""

    tags: NotRequired[dict[str, str]]
    """Tags for every resource that takes tags."""


class KarpenterClusterSettings(TypedDict):
    """The EKS cluster that Karpenter runs in and adds nodes to. It needs the Pod Identity agent."""

    name: str
    """The cluster's name; the names and tags of all resources have it."""

    kubernetesVersion: str
    """The cluster's Kubernetes minor version, such as "1.35"."""

    arm64Taint: NotRequired[str]
    """The taint of arm64 nodes, `key=value:Effect`, or `none`. The same for all components of a cluster. Default:
    arch=arm64:NoSchedule.
    """

    prefixDelegation: NotRequired[bool]
    """Whether the VPC CNI gives nodes /28 prefixes instead of single addresses. Default: false."""

    kubeconfig: pulumi.Input[str]
    """A kubeconfig with which Pulumi reaches the Kubernetes API."""

    securityGroupId: pulumi.Input[str]
    """The security group that EKS made for the cluster. Karpenter finds it by a tag that the component adds."""


class KarpenterArgs(TypedDict):
    """Karpenter in a cluster that is there already, with its NodePools."""

    version: NotRequired[str]
    """The version of its charts, such as 1.14.1, where the pinned one is not wanted yet."""

    controllerGroup: pulumi.Input[str]
    """The EKS name of the managed node group that runs the controller, such as a NodeGroup's `nodeGroupName`; two on-
    demand nodes at least.
    """

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

    cluster: KarpenterClusterSettings
    """The cluster that Karpenter runs in and adds nodes to."""

    subnetIds: pulumi.Input[list[pulumi.Input[str]]]
    """The subnets of the nodes that Karpenter adds."""

    controllerTaints: NotRequired[list[str]]
    """Taints of that group, which the controller has to tolerate."""

    prefer: NotRequired[str]
    """The architecture that is tried first: its spot, then its on-demand capacity, then the other's. One of arm64,
    amd64. Default: arm64.
    """

    order: NotRequired[list[str]]
    """All kinds of capacity in order, where `prefer` is not enough, such as [arm64-on-demand, amd64-on-demand]."""

    amiFamily: NotRequired[str]
    """The operating system of the nodes. One of AL2, AL2023, Bottlerocket. Default: AL2023."""

    tags: NotRequired[dict[str, str]]
    """Tags for every resource that takes tags, and for the nodes."""


class NodesClusterSettings(TypedDict):
    """The EKS cluster that nodes join."""

    name: str
    """The cluster's name; the names and tags of all resources have it."""

    kubernetesVersion: str
    """The cluster's Kubernetes minor version, such as "1.35"."""

    arm64Taint: NotRequired[str]
    """The taint of arm64 nodes, `key=value:Effect`, or `none`. The same for all components of a cluster. Default:
    arch=arm64:NoSchedule.
    """

    prefixDelegation: NotRequired[bool]
    """Whether the VPC CNI gives nodes /28 prefixes instead of single addresses. Default: false."""

    endpoint: pulumi.Input[str]
    """The URL of the Kubernetes API server."""

    certificateAuthority: pulumi.Input[str]
    """The cluster's certificate authority, PEM in base64."""

    serviceCidr: pulumi.Input[str]
    """The IPv4 range of Kubernetes Services, such as 172.20.0.0/16."""

    securityGroupId: pulumi.Input[str]
    """The security group that EKS made for the cluster."""


class NodeGroupArgs(TypedDict):
    """A node group in a cluster that is there already; the resource's name is the group's name."""

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

    instanceTypes: list[str]
    """EC2 instance types, in order of preference, all of one architecture."""

    amiType: NotRequired[str]
    """The EKS API's amiType, where the derived one is not wanted, such as `BOTTLEROCKET_ARM_64_FIPS`. It is checked
    against the instance types.
    """

    ami: NotRequired[AmiSettings]
    """Which image release, exactly."""

    cluster: NodesClusterSettings
    """The cluster that the nodes join."""

    subnetIds: pulumi.Input[list[pulumi.Input[str]]]
    """The subnets of the nodes."""

    clusterAutoscaler: NotRequired[bool]
    """Add the tags by which the cluster autoscaler finds the group, and knows its nodes while there are none. Default:
    false.
    """

    tags: NotRequired[dict[str, str]]
    """Tags for every resource that takes tags."""


class PatchedWorkloadsArgs(TypedDict):
    """Kubernetes manifests whose pods may use, prefer or need an architecture: `objects`, `manifests`, or both."""

    objects: NotRequired[pulumi.Input[list[pulumi.Input[Any]]]]
    """Kubernetes objects."""

    manifests: NotRequired[pulumi.Input[str]]
    """Manifests as text, YAML or JSON. In YAML, lines are added and nothing else changes."""

    tolerate: NotRequired[list[str]]
    """Taints that the pods tolerate, such as arch=arm64:NoSchedule."""

    prefer: NotRequired[str]
    """Prefer nodes of this architecture, and allow the others. One of arm64, amd64."""

    require: NotRequired[str]
    """Require nodes of this architecture. One of arm64, amd64."""

    weight: NotRequired[int]
    """The weight of `prefer`. Default: 100."""
