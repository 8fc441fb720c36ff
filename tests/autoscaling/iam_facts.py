"""What Karpenter 1.14 and the cluster autoscaler document about their rights, as data, for one cluster.

Sources: https://karpenter.sh/v1.14/reference/cloudformation/#controller-authorization and
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from multiarch.autoscaling.iam import ArnScope, build_karpenter_policies

CLUSTER, REGION, ACCOUNT = "shop-dev", "eu-west-1", "111122223333"
PLACE = ArnScope("aws", REGION, ACCOUNT, CLUSTER)
ROLE = f"arn:aws:iam::{ACCOUNT}:role/shop-dev-karpenter-nodes"
QUEUE = f"arn:aws:sqs:{REGION}:{ACCOUNT}:shop-dev-karpenter"
KARPENTER: Mapping[str, Any] = build_karpenter_policies(PLACE, node_role_arn=ROLE, queue_arn=QUEUE)

OWNED = f"kubernetes.io/cluster/{CLUSTER}"
NAMED = "eks:eks-cluster-name"
POOL = "karpenter.sh/nodepool"
CLASS = "karpenter.k8s.aws/ec2nodeclass"
HOME = "topology.kubernetes.io/region"
HAS, ASKS = "aws:ResourceTag/", "aws:RequestTag/"

Operators = Mapping[str, Mapping[str, str | list[str]]]


@dataclass(frozen=True)
class Fact:
    """One statement that allows: ``conditions`` by operator, then key."""

    policy: str
    sid: str
    actions: frozenset[str]
    resources: frozenset[str]
    conditions: Operators = field(default_factory=dict)


def _fact(policy: str, sid: str, actions: str, resources: set[str], conditions: Operators | None = None) -> Fact:
    """``actions`` is ``SERVICE: NAME NAME``."""
    service, names = actions.split(": ")
    return Fact(policy, sid, frozenset(f"{service}:{n}" for n in names.split()), frozenset(resources), conditions or {})


def _ec2(*kinds: str) -> set[str]:
    """All of a kind in the region: images and snapshots bear no account, of the others any account's."""
    own = {"image": "", "snapshot": ""}
    return {f"arn:aws:ec2:{REGION}:{own.get(kind, '*')}:{kind}/*" for kind in kinds}


_MADE = _ec2("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
_PROFILES = {f"arn:aws:iam::{ACCOUNT}:instance-profile/*"}
_EKS_CLUSTER = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{CLUSTER}"
_ALL = {"*"}
_OF_A_POOL: Operators = {"StringEquals": {HAS + OWNED: "owned"}, "StringLike": {HAS + POOL: "*"}}
_FOR_A_POOL: Mapping[str, str | list[str]] = {ASKS + OWNED: "owned", ASKS + NAMED: CLUSTER}

KARPENTER_FACTS = (
    _fact(
        "node-lifecycle", "AllowScopedEC2InstanceAccessActions", "ec2: RunInstances CreateFleet",
        _ec2("image", "snapshot", "security-group", "subnet", "capacity-reservation", "placement-group"),
    ),
    _fact(
        "node-lifecycle", "AllowScopedEC2LaunchTemplateAccessActions", "ec2: RunInstances CreateFleet",
        _ec2("launch-template"), _OF_A_POOL,
    ),
    _fact(
        "node-lifecycle", "AllowScopedEC2InstanceActionsWithTags", "ec2: RunInstances CreateFleet CreateLaunchTemplate",
        _MADE, {"StringEquals": _FOR_A_POOL, "StringLike": {ASKS + POOL: "*"}},
    ),
    _fact(
        "node-lifecycle", "AllowScopedResourceCreationTagging", "ec2: CreateTags", _MADE,
        {
            "StringEquals": {
                **_FOR_A_POOL,
                "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"],
            },
            "StringLike": {ASKS + POOL: "*"},
        },
    ),
    _fact(
        "node-lifecycle", "AllowScopedResourceTagging", "ec2: CreateTags", _ec2("instance"),
        {
            **_OF_A_POOL,
            "StringEqualsIfExists": {ASKS + NAMED: CLUSTER},
            "ForAllValues:StringEquals": {"aws:TagKeys": [NAMED, "karpenter.sh/nodeclaim", "Name"]},
        },
    ),
    _fact(
        "node-lifecycle", "AllowScopedDeletion", "ec2: TerminateInstances DeleteLaunchTemplate",
        _ec2("instance", "launch-template"), _OF_A_POOL,
    ),
    _fact(
        "iam-integration", "AllowPassingInstanceRole", "iam: PassRole", {ROLE},
        {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
    ),
    _fact(
        "iam-integration", "AllowScopedInstanceProfileCreationActions", "iam: CreateInstanceProfile", _PROFILES,
        {"StringEquals": {**_FOR_A_POOL, ASKS + HOME: REGION}, "StringLike": {ASKS + CLASS: "*"}},
    ),
    _fact(
        "iam-integration", "AllowScopedInstanceProfileTagActions", "iam: TagInstanceProfile", _PROFILES,
        {
            "StringEquals": {HAS + OWNED: "owned", HAS + HOME: REGION, **_FOR_A_POOL, ASKS + HOME: REGION},
            "StringLike": {HAS + CLASS: "*", ASKS + CLASS: "*"},
        },
    ),
    _fact(
        "iam-integration", "AllowScopedInstanceProfileActions",
        "iam: AddRoleToInstanceProfile RemoveRoleFromInstanceProfile DeleteInstanceProfile", _PROFILES,
        {"StringEquals": {HAS + OWNED: "owned", HAS + HOME: REGION}, "StringLike": {HAS + CLASS: "*"}},
    ),
    _fact("eks-integration", "AllowAPIServerEndpointDiscovery", "eks: DescribeCluster", {_EKS_CLUSTER}),
    _fact(
        "interruption", "AllowInterruptionQueueActions", "sqs: DeleteMessage GetQueueUrl ReceiveMessage", {QUEUE}
    ),
    _fact(
        "zonal-shift", "AllowZonalShiftStatusReadOnly", "arc-zonal-shift: GetManagedResource", _ALL,
        {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": _EKS_CLUSTER}},
    ),
    _fact(
        "resource-discovery", "AllowRegionalReadActions",
        "ec2: DescribeCapacityReservations DescribeImages DescribeInstances DescribeInstanceStatus"
        " DescribeInstanceTypeOfferings DescribeInstanceTypes DescribeLaunchTemplates DescribePlacementGroups"
        " DescribeSecurityGroups DescribeSpotPriceHistory DescribeSubnets",
        _ALL, {"StringEquals": {"aws:RequestedRegion": REGION}},
    ),
    _fact(
        "resource-discovery", "AllowSSMReadActions", "ssm: GetParameter",
        {f"arn:aws:ssm:{REGION}::parameter/aws/service/*"},
    ),
    _fact("resource-discovery", "AllowPricingReadActions", "pricing: GetProducts", _ALL),
    _fact("resource-discovery", "AllowUnscopedInstanceProfileListAction", "iam: ListInstanceProfiles", _ALL),
    _fact("resource-discovery", "AllowInstanceProfileReadActions", "iam: GetInstanceProfile", _PROFILES),
)  # fmt: skip
"""Karpenter's statements in the order of the template."""

AUTOSCALER_FACTS = (
    Fact(
        "cluster-autoscaler", "Read",
        frozenset({
            "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingInstances",
            "autoscaling:DescribeLaunchConfigurations", "autoscaling:DescribeScalingActivities", "ec2:DescribeImages",
            "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplateVersions",
            "ec2:GetInstanceTypesFromInstanceRequirements", "eks:DescribeNodegroup",
        }),
        frozenset(_ALL),
    ),
    Fact(
        "cluster-autoscaler", "ChangeOwnGroups",
        frozenset({"autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"}),
        frozenset(_ALL), {"StringEquals": {f"{HAS}k8s.io/cluster-autoscaler/{CLUSTER}": "owned"}},
    ),
)  # fmt: skip
