"""Makes node groups' plans directly, without a stack file, for tests of what reads a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from multiarch.facts.ami_families import AmiFamily, choose_ami_type
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import Accelerator, get_instance_type
from multiarch.facts.taints import Taint, parse_taint
from multiarch.nodes.model import (
    AmiSource,
    BootstrapCase,
    CapacityType,
    ClusterFacts,
    NodeGroupKind,
    NodeGroupPlan,
    Sizes,
    Update,
)

CLUSTER = ClusterFacts(
    name="checkout-dev",
    endpoint="https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com",
    certificate_authority="LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCnRlc3QKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=",
    service_cidr="172.20.0.0/16",
)
INSTANCE_TYPES = MappingProxyType({Architecture.AMD64: "m7i.large", Architecture.ARM64: "m7g.large"})


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """What a test wants of a node group; all the rest follows from family, case and architecture."""

    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[str | Taint, ...] = ()
    max_pods: int | None = None
    pre_bootstrap: str = ""
    kubelet_extra_args: tuple[str, ...] = ()


def node_group(
    family: AmiFamily = AmiFamily.AL2023,
    case: BootstrapCase = BootstrapCase.SELF_MANAGED,
    architecture: Architecture = Architecture.ARM64,
    options: GroupOptions | None = None,
) -> NodeGroupPlan:
    """A plan of one group, ``batch``, on one instance type. Max pods count as written when ``options`` has them."""
    options = options or GroupOptions()
    image = choose_ami_type(family, architecture, Accelerator.NONE)
    return NodeGroupPlan(
        path=("nodeGroups", "batch"),
        name="batch",
        name_prefix="batch-",
        launch_template_prefix=f"{CLUSTER.name}-batch-",
        kind=NodeGroupKind.SELF_MANAGED if case is BootstrapCase.SELF_MANAGED else NodeGroupKind.MANAGED,
        case=case,
        architecture=architecture,
        instance_types=(get_instance_type(INSTANCE_TYPES[architecture]),),
        ami_type=image,
        ami=AmiSource(
            id="ami-0123456789abcdef0" if case is BootstrapCase.CUSTOM_AMI else None,
            release=None,
            ssm_parameter=image.ssm_parameter("1.32", "image_id"),
        ),
        capacity_type=CapacityType.ON_DEMAND,
        sizes=Sizes(1, 1, 3),
        labels=tuple(sorted(options.labels)),
        taints=tuple(sorted(t if isinstance(t, Taint) else parse_taint(t) for t in options.taints)),
        max_pods=29 if options.max_pods is None else options.max_pods,
        max_pods_written=options.max_pods is not None,
        disk_size=50,
        imds_hop_limit=1,
        update=Update(1, None, force=False),
        zones=(),
        pre_bootstrap=options.pre_bootstrap,
        kubelet_extra_args=options.kubelet_extra_args,
        derived=(),
    )


def usual_options(family: AmiFamily, case: BootstrapCase, architecture: Architecture) -> GroupOptions:
    """As much as a family can do in a case: labels, the arm64 taint, max pods, a script and a flag."""
    options = GroupOptions(
        labels=(("team", "checkout"), ("example.com/tier", "batch")),
        taints=("arch=arm64:NoSchedule",) if architecture is Architecture.ARM64 else (),
        max_pods=58,
        pre_bootstrap='mkdir -p /var/lib/agent\necho "it\'s $HOSTNAME" >/var/lib/agent/name\n',
        kubelet_extra_args=("--image-gc-high-threshold=70",),
    )
    if family is AmiFamily.BOTTLEROCKET:
        return replace(options, pre_bootstrap="", kubelet_extra_args=())
    if family is AmiFamily.AL2 and case is BootstrapCase.EKS:
        return replace(options, max_pods=None, kubelet_extra_args=())
    return options
