"""What an EKS cluster is: frozen values without a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint, keeps_pods_away
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.stack.eks_cluster import EksCluster


@dataclass(frozen=True, slots=True)
class ObservedSubnet:
    """A subnet. ``free`` is its number of free addresses; a ``public`` one gives instances a public address.

    ``routed``: its default route leads elsewhere than to an internet gateway, such as to a NAT gateway.
    """

    id: str
    zone: str
    free: int
    public: bool
    routed: bool = True


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What a launch template says of nodes, beside their instance types and their image.

    ``disk_size`` is in GiB, None where the image decides. ``own`` are clauses about what an arm64 group of a stack
    does not take over, such as user data.
    """

    disk_size: int | None = None
    hop_limit: int = 1
    image: str = ""
    instance_type: str = ""
    spot: bool = False
    user_data: str = ""
    profile: str = ""
    security_groups: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A managed node group, or the Auto Scaling Group of a self-managed one.

    ``name`` is AWS's, ``short_name`` what its tool was told. ``family`` is None for an image that is not EKS's own,
    which ``image`` then names. ``nodes`` counts running instances by type. ``role`` is an ARN. ``owners`` are clusters
    whose autoscaler may find the group by its tags. ``settings.own`` is what can't be taken over; ``why_not`` says why
    there is no counterpart at all, empty otherwise.
    """

    name: str
    short_name: str
    kind: NodeGroupKind
    instance_types: tuple[str, ...]
    architecture: Architecture | None
    capacity_type: CapacityType
    sizes: tuple[int, int, int]
    family: AmiFamily | None
    subnets: tuple[str, ...]
    settings: NodeSettings
    fips: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    role: str = ""
    update: Mapping[str, int] = field(default_factory=dict)
    nodes: Mapping[str, int] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def size(self) -> int:
        """The number of nodes now."""
        return sum(self.nodes.values()) if self.nodes else self.sizes[1]


@dataclass(frozen=True, slots=True)
class ObservedPool:
    """A NodePool. ``architectures`` are those that its requirements allow; ``auto_mode``: EKS Auto Mode's.

    ``others`` are keys of requirements that are not read, and ``settings`` fields that a stack would write otherwise.
    ``cpu_limit`` is in vCPUs, ``memory_limit`` a quantity. ``weight`` is 0 where none is written, as Karpenter counts.
    """

    name: str
    architectures: tuple[Architecture, ...]
    capacity_types: tuple[CapacityType, ...]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    cpu_limit: int | None
    auto_mode: bool
    others: tuple[str, ...] = ()
    weight: int = 0
    memory_limit: str = ""
    settings: tuple[str, ...] = ()

    @property
    def only_amd64(self) -> bool:
        """Whether its nodes are amd64 and open to pods without a toleration."""
        return self.architectures == (Architecture.AMD64,) and not keeps_pods_away(self.taints)


@dataclass(frozen=True, slots=True)
class InCluster:
    """What the API server says. ``cluster_autoscalers`` and ``karpenters`` are Deployments, ``NAMESPACE/NAME``.

    ``taints`` are those of Nodes by their architecture, each with the name of a node. ``karpenter_roles`` are IAM
    roles of EC2NodeClasses, ``prefix_delegation`` and ``custom_networking`` settings of the DaemonSet ``aws-node``,
    None if there is none.
    ``priorities_namespace`` is where the cluster autoscaler reads its priorities, empty if that is not known.
    ``with_profiles``: EC2NodeClasses have instance profiles in place of roles.
    """

    context: str
    cluster_autoscalers: tuple[str, ...] = ()
    karpenters: tuple[str, ...] = ()
    karpenter_roles: tuple[str, ...] = ()
    pools: tuple[ObservedPool, ...] = ()
    taints: Mapping[Architecture, Mapping[Taint, str]] = field(default_factory=dict)
    prefix_delegation: bool | None = None
    custom_networking: bool | None = None
    priorities_namespace: str = ""
    with_profiles: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCluster(EksCluster):
    """A cluster with its nodes. ``subnets`` are those of the cluster and of its groups.

    ``addons`` are versions by name. ``service_accounts`` have an IAM role by Pod Identity, ``NAMESPACE/NAME``.
    ``karpenter_roles`` are names of roles that Karpenter's nodes have, ``karpenter_nodes`` is their number. ``offered``
    has the zones that offer each arm64 instance type that could be a counterpart. ``node_security_groups`` are those
    that new nodes need in place of the cluster's own, None where the nodes have none in common. ``inside`` is None
    where the API server was not read, and ``why_outside`` says why.
    """

    region: str
    subnets: tuple[ObservedSubnet, ...] = ()
    groups: tuple[ObservedGroup, ...] = ()
    addons: Mapping[str, str] = field(default_factory=dict)
    service_accounts: frozenset[str] = frozenset()
    karpenter_roles: tuple[str, ...] = ()
    karpenter_nodes: int = 0
    offered: Mapping[str, frozenset[str]] = field(default_factory=dict)
    node_security_groups: tuple[str, ...] | None = ()
    inside: InCluster | None = None
    why_outside: str = ""
