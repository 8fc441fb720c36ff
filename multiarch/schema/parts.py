"""The arguments of single components in a program of one's own: a stack's keys, and the cluster that is there already.

A whole stack's arguments are :class:`multiarch.schema.stack.StackSpec`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from multiarch.facts.ami_families import AmiFamily
from multiarch.schema import autoscaling
from multiarch.schema.base import Section, TaintText, get_section_default
from multiarch.schema.charts import Charts
from multiarch.schema.nodes import AmiFamilyName, MultiArchitectureGroup, NodeGroup

KNOWN_LATER = "known-later"
"""Metadata of a field whose value may be the output of another resource."""
Text = Annotated[Any, KNOWN_LATER, str]
"""A string that may be known only when it is used: the plan does not depend on it."""
Texts = Annotated[Any, KNOWN_LATER, list[str]]
"""A list of such strings."""
Objects = Annotated[Any, KNOWN_LATER, list[Any]]
"""A list of Kubernetes objects that may be known only when they are used."""


class Cluster(Section):
    """The EKS cluster that a component belongs to."""

    name: str
    """The cluster's name; the names and tags of all resources have it."""
    kubernetes_version: str
    """The cluster's Kubernetes minor version, such as "1.35"."""
    arm64_taint: Annotated[str, Field(examples=["arch=arm64:NoSchedule", "none"])] = "arch=arm64:NoSchedule"
    """The taint of arm64 nodes, ``key=value:Effect``, or ``none``. The same for all components of a cluster."""
    prefix_delegation: bool = False
    """Whether the VPC CNI gives nodes /28 prefixes instead of single addresses."""
    custom_networking: bool = False
    """Whether pods have subnets of their own (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG); nodes then take fewer pods."""
    ip_family: Literal["ipv4", "ipv6"] = "ipv4"
    """The addresses of pods and Services."""


class NodesCluster(Cluster):
    """The EKS cluster that nodes join."""

    endpoint: Text
    """The URL of the Kubernetes API server."""
    certificate_authority: Text
    """The cluster's certificate authority, PEM in base64."""
    service_cidr: Text
    """The CIDR block of Kubernetes Services, such as 172.20.0.0/16."""
    security_group_id: Text
    """The security group that EKS made for the cluster."""


class ControllerCluster(Cluster):
    """The EKS cluster that a controller runs in. It needs the Pod Identity agent."""

    kubeconfig: Text
    """A kubeconfig with which Pulumi reaches the Kubernetes API."""


class KarpenterCluster(ControllerCluster):
    """The EKS cluster that Karpenter runs in and adds nodes to. It needs the Pod Identity agent."""

    security_group_id: Text
    """The security group that EKS made for the cluster. Karpenter finds it by a tag that the component adds."""


class SingleNodeGroup(NodeGroup):
    """A node group in a cluster that is there already; the resource's name is the group's name."""

    omitted: ClassVar[Mapping[str, str]] = {
        "zones": "Name the subnets of these zones in subnetIds.",
        "onePerZone": "Declare a NodeGroup for each zone, with the zone's subnets.",
    }

    cluster: NodesCluster
    """The cluster that the nodes join."""
    subnet_ids: Texts
    """The subnets of the nodes."""
    cluster_autoscaler: bool = False
    """Add the tags by which the cluster autoscaler finds the group, and knows its nodes while there are none."""
    tags: Annotated[dict[str, str], Field(max_length=40)] = {}
    """Tags for every resource that takes tags."""


class SingleKarpenter(autoscaling.Karpenter):
    """Karpenter in a cluster that is there already, with its NodePools."""

    omitted: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("installed", "nodeRole"), "The component installs Karpenter, with a role for the nodes."
    )

    cluster: KarpenterCluster
    """The cluster that Karpenter runs in and adds nodes to."""
    subnet_ids: Texts
    """The subnets of the nodes that Karpenter adds."""
    controller_group: Text
    """The EKS name of the managed node group that runs the controller, such as a NodeGroup's ``nodeGroupName``; two
    on-demand nodes at least.
    """
    controller_taints: list[TaintText] = []
    """Taints of that group, which the controller has to tolerate."""
    prefer: Literal["arm64", "amd64"] = "arm64"
    """The architecture that is tried first: its spot, then its on-demand capacity, then the other's."""
    order: autoscaling.Order | None = None
    """All kinds of capacity in order, where ``prefer`` is not enough, such as [arm64-on-demand, amd64-on-demand]."""
    ami_family: AmiFamilyName = str(AmiFamily.AL2023)
    """The operating system of the nodes."""
    charts: Charts = get_section_default(Charts)
    """Where its Helm charts come from."""
    tags: Annotated[dict[str, str], Field(max_length=40)] = {}
    """Tags for every resource that takes tags, and for the nodes."""


class SingleClusterAutoscaler(autoscaling.ClusterAutoscaler):
    """The cluster autoscaler in a cluster that is there already, for groups with ``clusterAutoscaler: true``."""

    omitted: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("installed", "namespace"), "The component installs the cluster autoscaler."
    )

    cluster: ControllerCluster
    """The cluster that it runs in."""
    node_groups: dict[str, NodeGroup] = {}
    """The node groups that it manages, by name, with the arguments that each was declared with: priorities follow from
    their architectures and capacity types.
    """
    multi_architecture_groups: dict[str, MultiArchitectureGroup] = {}
    """Pairs of node groups that it manages, by name."""
    prefer: Literal["arm64", "amd64"] = "arm64"
    """The architecture that is tried first: its spot, then its on-demand capacity, then the other's."""
    order: autoscaling.Order | None = None
    """All kinds of capacity in order, where ``prefer`` is not enough."""
    ami_family: AmiFamilyName = str(AmiFamily.AL2023)
    """The operating system of groups that do not name their own."""
    charts: Charts = get_section_default(Charts)
    """Where its Helm chart comes from."""
    tags: Annotated[dict[str, str], Field(max_length=40)] = {}
    """Tags for every resource that takes tags."""


class PatchedWorkloads(Section):
    """Kubernetes manifests whose pods may use, prefer or need an architecture: ``objects``, ``manifests``, or both."""

    objects: Objects = None
    """Kubernetes objects."""
    manifests: Text = None
    """Manifests as text, YAML or JSON. In YAML, lines are added and nothing else changes."""
    tolerate: list[TaintText] = []
    """Taints that the pods tolerate, such as arch=arm64:NoSchedule."""
    prefer: Literal["arm64", "amd64"] | None = None
    """Prefer nodes of this architecture, and allow the others."""
    require: Literal["arm64", "amd64"] | None = None
    """Require nodes of this architecture."""
    weight: Annotated[int, Field(ge=1, le=100)] = 100
    """The weight of ``prefer``."""
