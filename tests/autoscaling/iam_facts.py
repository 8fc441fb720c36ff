"""What Karpenter 1.14 and the cluster autoscaler document about their rights, written out for one cluster.

Sources: https://karpenter.sh/v1.14/reference/cloudformation/#controller-authorization and
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
"""

from __future__ import annotations

from collections.abc import Mapping

ROLE = "arn:aws:iam::111122223333:role/shop-dev-karpenter-nodes"
QUEUE = "arn:aws:sqs:eu-west-1:111122223333:shop-dev-karpenter"
HAS, ASKS = "aws:ResourceTag/", "aws:RequestTag/"
OWNED, NAMED = "kubernetes.io/cluster/shop-dev", "eks:eks-cluster-name"
POOL, CLASS, HOME = "karpenter.sh/nodepool", "karpenter.k8s.aws/ec2nodeclass", "topology.kubernetes.io/region"

_Fact = tuple[str, str, str, Mapping[str, Mapping[str, str | list[str]]]]
_EC2 = "arn:aws:ec2:eu-west-1:*:"
_PROFILES = "arn:aws:iam::111122223333:instance-profile/*"
_CLUSTER = "arn:aws:eks:eu-west-1:111122223333:cluster/shop-dev"
_MADE = (
    f"{_EC2}fleet/* {_EC2}instance/* {_EC2}volume/* {_EC2}network-interface/* {_EC2}launch-template/* "
    f"{_EC2}spot-instances-request/*"
)
_FOR_CLUSTER: Mapping[str, str | list[str]] = {ASKS + OWNED: "owned", ASKS + NAMED: "shop-dev"}
_CREATING: Mapping[str, str | list[str]] = {
    "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"],
}
_PROFILE_OF_CLUSTER: Mapping[str, str | list[str]] = {HAS + OWNED: "owned", HAS + HOME: "eu-west-1"}
_OF_POOL: Mapping[str, Mapping[str, str | list[str]]] = {
    "StringEquals": {HAS + OWNED: "owned"},
    "StringLike": {HAS + POOL: "*"},
}

# fmt: off
KARPENTER_FACTS: Mapping[str, tuple[_Fact, ...]] = {
    "node-lifecycle": (
        ("AllowScopedEC2InstanceAccessActions", "ec2:CreateFleet ec2:RunInstances",
         ("arn:aws:ec2:eu-west-1::image/* arn:aws:ec2:eu-west-1::snapshot/* "
         f"{_EC2}security-group/* {_EC2}subnet/* {_EC2}capacity-reservation/* {_EC2}placement-group/*"), {}),
        ("AllowScopedEC2LaunchTemplateAccessActions", "ec2:CreateFleet ec2:RunInstances",
         f"{_EC2}launch-template/*", _OF_POOL),
        ("AllowScopedEC2InstanceActionsWithTags", "ec2:CreateFleet ec2:CreateLaunchTemplate ec2:RunInstances", _MADE,
         {"StringEquals": _FOR_CLUSTER, "StringLike": {ASKS + POOL: "*"}}),
        ("AllowScopedResourceCreationTagging", "ec2:CreateTags", _MADE,
         {"StringEquals": {**_FOR_CLUSTER, **_CREATING}, "StringLike": {ASKS + POOL: "*"}}),
        ("AllowScopedResourceTagging", "ec2:CreateTags", f"{_EC2}instance/*",
         {**_OF_POOL, "StringEqualsIfExists": {ASKS + NAMED: "shop-dev"},
          "ForAllValues:StringEquals": {"aws:TagKeys": [NAMED, "karpenter.sh/nodeclaim", "Name"]}}),
        ("AllowScopedDeletion", "ec2:DeleteLaunchTemplate ec2:TerminateInstances",
         f"{_EC2}instance/* {_EC2}launch-template/*", _OF_POOL),
    ),
    "iam-integration": (
        ("AllowPassingInstanceRole", "iam:PassRole", ROLE,
         {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}}),
        ("AllowScopedInstanceProfileCreationActions", "iam:CreateInstanceProfile", _PROFILES,
         {"StringEquals": {**_FOR_CLUSTER, ASKS + HOME: "eu-west-1"}, "StringLike": {ASKS + CLASS: "*"}}),
        ("AllowScopedInstanceProfileTagActions", "iam:TagInstanceProfile", _PROFILES,
         {"StringEquals": {**_PROFILE_OF_CLUSTER, **_FOR_CLUSTER, ASKS + HOME: "eu-west-1"},
          "StringLike": {HAS + CLASS: "*", ASKS + CLASS: "*"}}),
        ("AllowScopedInstanceProfileActions",
         "iam:AddRoleToInstanceProfile iam:DeleteInstanceProfile iam:RemoveRoleFromInstanceProfile", _PROFILES,
         {"StringEquals": _PROFILE_OF_CLUSTER, "StringLike": {HAS + CLASS: "*"}}),
    ),
    "eks-integration": (("AllowAPIServerEndpointDiscovery", "eks:DescribeCluster", _CLUSTER, {}),),
    "interruption": (
        ("AllowInterruptionQueueActions", "sqs:DeleteMessage sqs:GetQueueUrl sqs:ReceiveMessage", QUEUE, {}),
    ),
    "zonal-shift": (
        ("AllowZonalShiftStatusReadOnly", "arc-zonal-shift:GetManagedResource", "*",
         {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": _CLUSTER}}),
    ),
    "resource-discovery": (
        ("AllowRegionalReadActions",
         ("ec2:DescribeCapacityReservations ec2:DescribeImages ec2:DescribeInstanceStatus "
         "ec2:DescribeInstanceTypeOfferings ec2:DescribeInstanceTypes ec2:DescribeInstances "
         "ec2:DescribeLaunchTemplates ec2:DescribePlacementGroups ec2:DescribeSecurityGroups "
         "ec2:DescribeSpotPriceHistory ec2:DescribeSubnets"),
         "*", {"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}),
        ("AllowSSMReadActions", "ssm:GetParameter", "arn:aws:ssm:eu-west-1::parameter/aws/service/*", {}),
        ("AllowPricingReadActions", "pricing:GetProducts", "*", {}),
        ("AllowUnscopedInstanceProfileListAction", "iam:ListInstanceProfiles", "*", {}),
        ("AllowInstanceProfileReadActions", "iam:GetInstanceProfile", _PROFILES, {}),
    ),
}
"""By policy: each statement's id, actions, resources and conditions, in the order of Karpenter's template."""

AUTOSCALER_FACTS: tuple[_Fact, ...] = (
    ("Read",
     ("autoscaling:DescribeAutoScalingGroups autoscaling:DescribeAutoScalingInstances "
     "autoscaling:DescribeLaunchConfigurations autoscaling:DescribeScalingActivities ec2:DescribeImages "
     "ec2:DescribeInstanceTypes ec2:DescribeLaunchTemplateVersions ec2:GetInstanceTypesFromInstanceRequirements "
     "eks:DescribeNodegroup"), "*", {}),
    ("ChangeOwnGroups", "autoscaling:SetDesiredCapacity autoscaling:TerminateInstanceInAutoScalingGroup", "*",
     {"StringEquals": {f"{HAS}k8s.io/cluster-autoscaler/shop-dev": "owned"}}),
)
