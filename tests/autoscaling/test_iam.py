"""What the autoscalers may do: statement by statement against the documented facts, and call by call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from multiarch.autoscaling.iam import (
    INTERRUPTION_EVENTS,
    KARPENTER_POLICY_NAMES,
    Place,
    cluster_autoscaler_policy,
    event_pattern,
    interruption_queue_policy,
    karpenter_policies,
    text,
)
from multiarch.facts.limits import MAX_MANAGED_POLICY_CHARACTERS
from tests.autoscaling.evaluation import Call, allowed

PLACE = Place("aws", "eu-west-1", "111122223333", "shop-dev")
ROLE = "arn:aws:iam::111122223333:role/shop-dev-karpenter-nodes"
QUEUE = "arn:aws:sqs:eu-west-1:111122223333:shop-dev-karpenter"
KARPENTER: Any = karpenter_policies(PLACE, node_role_arn=ROLE, queue_arn=QUEUE)
EC2 = "arn:aws:ec2:eu-west-1:111122223333:"
PROFILE = "arn:aws:iam::111122223333:instance-profile/shop-dev_1"
OWNED = "kubernetes.io/cluster/shop-dev"
OTHERS = "kubernetes.io/cluster/shop-prod"

# Karpenter 1.14, reference/cloudformation: policy, statement id, actions.
FACTS: list[tuple[str, str, set[str]]] = [
    ("node-lifecycle", "AllowScopedEC2InstanceAccessActions", {"ec2:RunInstances", "ec2:CreateFleet"}),
    ("node-lifecycle", "AllowScopedEC2LaunchTemplateAccessActions", {"ec2:RunInstances", "ec2:CreateFleet"}),
    ("node-lifecycle", "AllowScopedEC2InstanceActionsWithTags",
     {"ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"}),
    ("node-lifecycle", "AllowScopedResourceCreationTagging", {"ec2:CreateTags"}),
    ("node-lifecycle", "AllowScopedResourceTagging", {"ec2:CreateTags"}),
    ("node-lifecycle", "AllowScopedDeletion", {"ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"}),
    ("iam-integration", "AllowPassingInstanceRole", {"iam:PassRole"}),
    ("iam-integration", "AllowScopedInstanceProfileCreationActions", {"iam:CreateInstanceProfile"}),
    ("iam-integration", "AllowScopedInstanceProfileTagActions", {"iam:TagInstanceProfile"}),
    ("iam-integration", "AllowScopedInstanceProfileActions",
     {"iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"}),
    ("eks-integration", "AllowAPIServerEndpointDiscovery", {"eks:DescribeCluster"}),
    ("interruption", "AllowInterruptionQueueActions",
     {"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}),
    ("zonal-shift", "AllowZonalShiftStatusReadOnly", {"arc-zonal-shift:GetManagedResource"}),
    ("resource-discovery", "AllowRegionalReadActions",
     {"ec2:DescribeCapacityReservations", "ec2:DescribeImages", "ec2:DescribeInstances",
      "ec2:DescribeInstanceStatus", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes",
      "ec2:DescribeLaunchTemplates", "ec2:DescribePlacementGroups", "ec2:DescribeSecurityGroups",
      "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets"}),
    ("resource-discovery", "AllowSSMReadActions", {"ssm:GetParameter"}),
    ("resource-discovery", "AllowPricingReadActions", {"pricing:GetProducts"}),
    ("resource-discovery", "AllowUnscopedInstanceProfileListAction", {"iam:ListInstanceProfiles"}),
    ("resource-discovery", "AllowInstanceProfileReadActions", {"iam:GetInstanceProfile"}),
]  # fmt: skip
# Condition keys of the statements that have any.
CONDITIONS: dict[str, dict[str, set[str]]] = {
    "AllowScopedEC2LaunchTemplateAccessActions": {
        "StringEquals": {f"aws:ResourceTag/{OWNED}"}, "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool"}},
    "AllowScopedEC2InstanceActionsWithTags": {
        "StringEquals": {f"aws:RequestTag/{OWNED}", "aws:RequestTag/eks:eks-cluster-name"},
        "StringLike": {"aws:RequestTag/karpenter.sh/nodepool"}},
    "AllowScopedResourceCreationTagging": {
        "StringEquals": {f"aws:RequestTag/{OWNED}", "aws:RequestTag/eks:eks-cluster-name", "ec2:CreateAction"},
        "StringLike": {"aws:RequestTag/karpenter.sh/nodepool"}},
    "AllowScopedResourceTagging": {
        "StringEquals": {f"aws:ResourceTag/{OWNED}"}, "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool"},
        "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name"}, "ForAllValues:StringEquals": {"aws:TagKeys"}},
    "AllowScopedDeletion": {
        "StringEquals": {f"aws:ResourceTag/{OWNED}"}, "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool"}},
    "AllowPassingInstanceRole": {"StringEquals": {"iam:PassedToService"}},
    "AllowScopedInstanceProfileCreationActions": {
        "StringEquals": {f"aws:RequestTag/{OWNED}", "aws:RequestTag/eks:eks-cluster-name",
                         "aws:RequestTag/topology.kubernetes.io/region"},
        "StringLike": {"aws:RequestTag/karpenter.k8s.aws/ec2nodeclass"}},
    "AllowScopedInstanceProfileTagActions": {
        "StringEquals": {f"aws:ResourceTag/{OWNED}", "aws:ResourceTag/topology.kubernetes.io/region",
                         f"aws:RequestTag/{OWNED}", "aws:RequestTag/eks:eks-cluster-name",
                         "aws:RequestTag/topology.kubernetes.io/region"},
        "StringLike": {"aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass",
                       "aws:RequestTag/karpenter.k8s.aws/ec2nodeclass"}},
    "AllowScopedInstanceProfileActions": {
        "StringEquals": {f"aws:ResourceTag/{OWNED}", "aws:ResourceTag/topology.kubernetes.io/region"},
        "StringLike": {"aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass"}},
    "AllowZonalShiftStatusReadOnly": {"StringEquals": {"arc-zonal-shift:ResourceIdentifier"}},
    "AllowRegionalReadActions": {"StringEquals": {"aws:RequestedRegion"}},
}  # fmt: skip


def tags(where: str, cluster: str = OWNED, **others: str) -> dict[str, str]:
    return {f"{where}/{cluster}": "owned"} | {f"{where}/{key}": value for key, value in others.items()}


def of_a_pool(where: str, cluster: str = OWNED) -> dict[str, str]:
    return tags(where, cluster, **{"karpenter.sh/nodepool": "general-arm64-spot"})


def requested(name: str) -> dict[str, str]:
    return of_a_pool("aws:RequestTag", f"kubernetes.io/cluster/{name}") | {"aws:RequestTag/eks:eks-cluster-name": name}


def profile(where: str, region: str = "eu-west-1", cluster: str = OWNED) -> dict[str, str]:
    return tags(
        where,
        cluster,
        **{"karpenter.k8s.aws/ec2nodeclass": "default", "topology.kubernetes.io/region": region},
    )


def test_karpenter_has_the_six_documented_policies_statement_by_statement() -> None:
    assert tuple(KARPENTER) == KARPENTER_POLICY_NAMES
    written = [
        (name, statement["Sid"], set(statement["Action"]))
        for name, document in KARPENTER.items()
        for statement in document["Statement"]
    ]
    assert written == FACTS


@pytest.mark.parametrize("sid", [sid for _, sid, _ in FACTS])
def test_each_statement_has_the_documented_conditions(sid: str) -> None:
    statement = next(s for document in KARPENTER.values() for s in document["Statement"] if s["Sid"] == sid)
    found = {operator: set(pairs) for operator, pairs in statement.get("Condition", {}).items()}
    assert found == CONDITIONS.get(sid, {})
    assert statement["Effect"] == "Allow"


def test_capacity_reservations_and_placement_groups_may_be_launched_into() -> None:
    resources = KARPENTER["node-lifecycle"]["Statement"][0]["Resource"]
    assert {resource.rpartition(":")[2] for resource in resources} == {
        "image/*", "snapshot/*", "security-group/*", "subnet/*", "capacity-reservation/*", "placement-group/*",
    }  # fmt: skip


@pytest.mark.parametrize("name", KARPENTER_POLICY_NAMES)
def test_each_policy_fits_into_a_managed_policy_with_the_longest_names(name: str) -> None:
    place = Place("aws-us-gov", "us-gov-east-1", "111122223333", "c" * 100)
    role = f"arn:aws-us-gov:iam::111122223333:role/{'r' * 64}"
    queue = f"arn:aws-us-gov:sqs:us-gov-east-1:111122223333:{'q' * 80}"
    document = karpenter_policies(place, node_role_arn=role, queue_arn=queue)[name]
    assert len(text(document)) < MAX_MANAGED_POLICY_CHARACTERS


KARPENTER_CALLS: list[tuple[str, bool, Call]] = [
    ("end an instance of its own", True,
     Call("ec2:TerminateInstances", f"{EC2}instance/i-1", of_a_pool("aws:ResourceTag"))),
    ("end an instance of another cluster", False,
     Call("ec2:TerminateInstances", f"{EC2}instance/i-1", of_a_pool("aws:ResourceTag", OTHERS))),
    ("end an instance of a node group", False,
     Call("ec2:TerminateInstances", f"{EC2}instance/i-1", tags("aws:ResourceTag"))),
    ("end an untagged instance", False, Call("ec2:TerminateInstances", f"{EC2}instance/i-1")),
    ("launch an instance with its tags", True,
     Call("ec2:RunInstances", f"{EC2}instance/*", requested("shop-dev"))),
    ("launch an instance without tags", False, Call("ec2:RunInstances", f"{EC2}instance/*")),
    ("launch an instance for another cluster", False,
     Call("ec2:RunInstances", f"{EC2}instance/*", requested("shop-prod"))),
    ("launch from another cluster's template", False,
     Call("ec2:CreateFleet", f"{EC2}launch-template/lt-1", of_a_pool("aws:ResourceTag", OTHERS))),
    ("use an image", True, Call("ec2:RunInstances", "arn:aws:ec2:eu-west-1::image/ami-1")),
    ("launch in another region", False, Call("ec2:RunInstances", "arn:aws:ec2:us-east-1::image/ami-1")),
    ("tag what it creates", True,
     Call("ec2:CreateTags", f"{EC2}instance/*", requested("shop-dev") | {"ec2:CreateAction": "RunInstances"})),
    ("take over an instance by tagging it", False,
     Call("ec2:CreateTags", f"{EC2}instance/i-1", requested("shop-dev"))),
    ("name its instance", True,
     Call("ec2:CreateTags", f"{EC2}instance/i-1", of_a_pool("aws:ResourceTag") | {"aws:TagKeys": ["Name"]})),
    ("give its instance any tag", False,
     Call("ec2:CreateTags", f"{EC2}instance/i-1", of_a_pool("aws:ResourceTag") | {"aws:TagKeys": ["owner"]})),
    ("pass the node role to EC2", True, Call("iam:PassRole", ROLE, {"iam:PassedToService": "ec2.amazonaws.com"})),
    ("pass the node role to Lambda", False,
     Call("iam:PassRole", ROLE, {"iam:PassedToService": "lambda.amazonaws.com"})),
    ("pass an administrator's role", False,
     Call("iam:PassRole", "arn:aws:iam::111122223333:role/admin", {"iam:PassedToService": "ec2.amazonaws.com"})),
    ("make an instance profile of its own", True,
     Call("iam:CreateInstanceProfile", PROFILE,
          profile("aws:RequestTag") | {"aws:RequestTag/eks:eks-cluster-name": "shop-dev"})),
    ("delete its instance profile", True, Call("iam:DeleteInstanceProfile", PROFILE, profile("aws:ResourceTag"))),
    ("delete another region's instance profile", False,
     Call("iam:DeleteInstanceProfile", PROFILE, profile("aws:ResourceTag", region="us-east-1"))),
    ("delete another cluster's instance profile", False,
     Call("iam:DeleteInstanceProfile", PROFILE, profile("aws:ResourceTag", cluster=OTHERS))),
    ("read its queue", True, Call("sqs:ReceiveMessage", QUEUE)),
    ("read another queue", False, Call("sqs:ReceiveMessage", QUEUE.replace("dev", "prod"))),
    ("write to its queue", False, Call("sqs:SendMessage", QUEUE)),
    ("look at its cluster", True, Call("eks:DescribeCluster", PLACE.cluster_arn)),
    ("look at another cluster", False, Call("eks:DescribeCluster", PLACE.cluster_arn.replace("dev", "prod"))),
    ("see its zonal shift", True,
     Call("arc-zonal-shift:GetManagedResource", "*", {"arc-zonal-shift:ResourceIdentifier": PLACE.cluster_arn})),
    ("see instance status, as since 1.12", True,
     Call("ec2:DescribeInstanceStatus", "*", {"aws:RequestedRegion": "eu-west-1"})),
    ("read a team's parameter", False,
     Call("ssm:GetParameter", "arn:aws:ssm:eu-west-1:111122223333:parameter/shop/password")),
    ("read an image's parameter", True,
     Call("ssm:GetParameter", "arn:aws:ssm:eu-west-1::parameter/aws/service/eks/optimized-ami/1.35/x")),
]  # fmt: skip


@pytest.mark.parametrize(("what", "may", "call"), KARPENTER_CALLS, ids=[what for what, _, _ in KARPENTER_CALLS])
def test_karpenter_may_do_what_it_needs_and_no_more(what: str, may: bool, call: Call) -> None:  # noqa: FBT001
    assert allowed(KARPENTER.values(), call) is may, what


GROUP = "arn:aws:autoscaling:eu-west-1:111122223333:autoScalingGroup:1:autoScalingGroupName/eks-web"
TAG = "aws:ResourceTag/k8s.io/cluster-autoscaler/"


@pytest.mark.parametrize(
    ("may", "call"),
    [
        (True, Call("autoscaling:SetDesiredCapacity", GROUP, {f"{TAG}shop-dev": "owned"})),
        (False, Call("autoscaling:SetDesiredCapacity", GROUP, {f"{TAG}shop-prod": "owned"})),
        (False, Call("autoscaling:SetDesiredCapacity", GROUP)),
        (False, Call("autoscaling:TerminateInstanceInAutoScalingGroup", GROUP, {f"{TAG}enabled": "true"})),
        (False, Call("autoscaling:UpdateAutoScalingGroup", GROUP, {f"{TAG}shop-dev": "owned"})),
        (True, Call("autoscaling:DescribeAutoScalingGroups", "*")),
        (True, Call("eks:DescribeNodegroup", "arn:aws:eks:eu-west-1:111122223333:nodegroup/shop-dev/web/1")),
        (False, Call("ec2:TerminateInstances", f"{EC2}instance/i-1", {f"{TAG}shop-dev": "owned"})),
    ],
)
def test_the_cluster_autoscaler_changes_groups_of_its_cluster_alone(may: bool, call: Call) -> None:  # noqa: FBT001
    assert allowed([cluster_autoscaler_policy("shop-dev")], call) is may


def test_the_cluster_autoscaler_has_the_documented_actions() -> None:
    document: Any = cluster_autoscaler_policy("shop-dev")
    read, write = document["Statement"]
    assert set(read["Action"]) == {
        "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations", "autoscaling:DescribeScalingActivities", "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements", "eks:DescribeNodegroup",
    }  # fmt: skip
    assert set(write["Action"]) == {"autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"}


def test_the_queue_takes_events_and_refuses_plain_http() -> None:
    document: Any = interruption_queue_policy(QUEUE)
    allow, deny = document["Statement"]
    assert allow["Principal"] == {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]}
    assert (allow["Action"], deny["Action"], deny["Effect"]) == ("sqs:SendMessage", "sqs:*", "Deny")
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_five_kinds_of_event_reach_the_queue() -> None:
    assert sorted(json.dumps(event_pattern(name), sort_keys=True) for name in INTERRUPTION_EVENTS) == [
        '{"detail-type": ["AWS Health Event"], "source": ["aws.health"]}',
        '{"detail-type": ["EC2 Capacity Reservation Instance Interruption Warning"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Instance Rebalance Recommendation"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Instance State-change Notification"], "source": ["aws.ec2"]}',
        '{"detail-type": ["EC2 Spot Instance Interruption Warning"], "source": ["aws.ec2"]}',
    ]
