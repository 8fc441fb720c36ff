"""IAM policies of the autoscalers, as data.

Documents are plain mappings; :func:`format_policy` writes them. Where an ARN is not known before an apply, the caller
calls these functions once it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from multiarch.autoscaling.tags import get_cluster_tag
from multiarch.frozen import dataclass

PolicyDocument = Mapping[str, object]
"""A policy document: ``Version`` and ``Statement``."""
_Conditions = Mapping[str, Mapping[str, str | list[str]]]
_HAS, _ASKS = "aws:ResourceTag/", "aws:RequestTag/"
_CLUSTER_NAME, _POOL, _CLASS = "eks:eks-cluster-name", "karpenter.sh/nodepool", "karpenter.k8s.aws/ec2nodeclass"

KARPENTER_POLICY_NAMES = (
    "node-lifecycle",
    "iam-integration",
    "eks-integration",
    "interruption",
    "zonal-shift",
    "resource-discovery",
)
"""Karpenter's six policies. As one policy they could exceed IAM's 6,144 characters with a long cluster name."""

INTERRUPTION_EVENTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "capacity-reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
        "health": ("aws.health", "AWS Health Event"),
        "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
        "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
        "state-change": ("aws.ec2", "EC2 Instance State-change Notification"),
    }
)
"""Source and detail type of the events that Karpenter handles, one EventBridge rule each.

Source: https://karpenter.sh/v1.14/reference/cloudformation/#interruption-handling
"""


@dataclass(frozen=True, slots=True)
class ArnScope:
    """The parts of ARNs: ``partition`` such as ``aws`` or ``aws-cn``, ``account`` with twelve digits."""

    partition: str
    region: str
    account: str
    cluster: str

    @property
    def cluster_arn(self) -> str:
        """The EKS cluster's ARN."""
        return f"arn:{self.partition}:eks:{self.region}:{self.account}:cluster/{self.cluster}"

    @property
    def instance_profiles(self) -> str:
        """Every instance profile of the account: Karpenter's names are not known beforehand, its tags are."""
        return f"arn:{self.partition}:iam::{self.account}:instance-profile/*"

    def ec2(self, kinds: str, account: str = "*") -> list[str]:
        """Return every EC2 resource of these kinds in the region, by default of any account: conditions restrict them.

        ARNs of images and snapshots name no account.
        """
        return [f"arn:{self.partition}:ec2:{self.region}:{account}:{kind}/*" for kind in kinds.split()]


def format_policy(document: PolicyDocument) -> str:
    """Write a document as JSON with sorted keys and no white space: the same document gives the same bytes."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def build_cluster_autoscaler_policy(cluster: str) -> PolicyDocument:
    """Allow reading everything, and changing only Auto Scaling Groups tagged as this cluster's.

    Describe actions take no resources. Source:
    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
    """
    read = [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeScalingActivities",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
        "eks:DescribeNodegroup",
    ]
    write = ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]
    owned = {"StringEquals": {f"aws:ResourceTag/{get_cluster_tag(cluster)}": "owned"}}
    return _document(_allow("Read", read, "*"), _allow("ChangeOwnGroups", write, "*", owned))


def build_karpenter_policies(
    scope: ArnScope, *, node_role_arn: str, queue_arn: str, isolated: bool = False
) -> Mapping[str, PolicyDocument]:
    """Return Karpenter's six policies by their names, :data:`KARPENTER_POLICY_NAMES`.

    An ``isolated`` controller makes no calls to IAM and the price list, and needs no rights to them.

    Statement ids, actions, resources and conditions are those that Karpenter 1.14 documents.
    Source: https://karpenter.sh/v1.14/reference/cloudformation/#controller-authorization
    """
    of_cluster = {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": scope.cluster_arn}}
    queue = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
    documents = (
        _node_lifecycle(scope),
        _iam_integration(scope, node_role_arn, isolated=isolated),
        _document(_allow("AllowAPIServerEndpointDiscovery", ["eks:DescribeCluster"], scope.cluster_arn)),
        _document(_allow("AllowInterruptionQueueActions", queue, queue_arn)),
        _document(_allow("AllowZonalShiftStatusReadOnly", ["arc-zonal-shift:GetManagedResource"], "*", of_cluster)),
        _resource_discovery(scope, isolated=isolated),
    )
    return dict(zip(KARPENTER_POLICY_NAMES, documents, strict=True))


def build_interruption_queue_policy(queue_arn: str, rule_arns: Sequence[str]) -> PolicyDocument:
    """Return the interruption queue's policy: EventBridge may send to it for these rules, and everything needs TLS.

    ``rule_arns`` are ARNs of the stack's own rules, with ``*`` for the end of a name. Karpenter's reference allows
    every rule of every account, and SQS itself, which sends nothing here. Source: EventBridge user guide, "Using
    resource-based policies for Amazon EventBridge".
    """
    return _document(
        {
            "Sid": "AllowEvents",
            "Effect": "Allow",
            "Principal": {"Service": "events.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": queue_arn,
            "Condition": {"ArnLike": {"aws:SourceArn": sorted(rule_arns)}},
        },
        {
            "Sid": "DenyHTTP",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sqs:*",
            "Resource": queue_arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    )


def build_event_pattern(name: str) -> Mapping[str, object]:
    """Return the EventBridge pattern of one of :data:`INTERRUPTION_EVENTS`. Raises KeyError for another name."""
    source, detail_type = INTERRUPTION_EVENTS[name]
    return {"source": [source], "detail-type": [detail_type]}


def _node_lifecycle(scope: ArnScope) -> PolicyDocument:
    """Launch, tag and terminate instances, but only with the cluster's tags."""
    launch = ["ec2:CreateFleet", "ec2:RunInstances"]
    # What an EC2NodeClass may select: a launch does not change it.
    given = [
        *scope.ec2("image snapshot", account=""),
        *scope.ec2("security-group subnet capacity-reservation placement-group"),
    ]
    made = scope.ec2("fleet instance volume network-interface launch-template spot-instances-request")
    tag = f"kubernetes.io/cluster/{scope.cluster}"
    owned: _Conditions = {"StringEquals": {_HAS + tag: "owned"}, "StringLike": {_HAS + _POOL: "*"}}
    requested = {_ASKS + tag: "owned", _ASKS + _CLUSTER_NAME: scope.cluster}
    of_a_pool = {"StringLike": {_ASKS + _POOL: "*"}}
    creating = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
    tagging: _Conditions = {
        "StringEqualsIfExists": {_ASKS + _CLUSTER_NAME: scope.cluster},
        "ForAllValues:StringEquals": {"aws:TagKeys": [_CLUSTER_NAME, "karpenter.sh/nodeclaim", "Name"]},
    }
    delete = ["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"]
    return _document(
        _allow("AllowScopedEC2InstanceAccessActions", launch, given),
        _allow("AllowScopedEC2LaunchTemplateAccessActions", launch, scope.ec2("launch-template"), owned),
        _allow(
            "AllowScopedEC2InstanceActionsWithTags",
            [*launch, "ec2:CreateLaunchTemplate"],
            made,
            {"StringEquals": requested, **of_a_pool},
        ),
        _allow(
            "AllowScopedResourceCreationTagging",
            ["ec2:CreateTags"],
            made,
            {"StringEquals": {**requested, **creating}, **of_a_pool},
        ),
        _allow("AllowScopedResourceTagging", ["ec2:CreateTags"], scope.ec2("instance"), {**owned, **tagging}),
        _allow("AllowScopedDeletion", delete, scope.ec2("instance launch-template"), owned),
    )


def _iam_integration(scope: ArnScope, node_role_arn: str, *, isolated: bool) -> PolicyDocument:
    """Pass the node role, create instance profiles of it, and change only those of this cluster and region."""
    services = ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]
    to_ec2 = {"StringEquals": {"iam:PassedToService": services}}
    passing = _allow("AllowPassingInstanceRole", ["iam:PassRole"], node_role_arn, to_ec2)
    if isolated:
        return _document(passing)
    # IAM is global, so the region is a tag too.
    tags = {f"kubernetes.io/cluster/{scope.cluster}": "owned", "topology.kubernetes.io/region": scope.region}
    owned = {_HAS + key: value for key, value in tags.items()}
    requested = {_ASKS + key: value for key, value in (tags | {_CLUSTER_NAME: scope.cluster}).items()}
    change = ["iam:AddRoleToInstanceProfile", "iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile"]
    rows = (
        ("Creation", ["iam:CreateInstanceProfile"], requested, (_ASKS,)),
        ("Tag", ["iam:TagInstanceProfile"], owned | requested, (_ASKS, _HAS)),
        ("", change, owned, (_HAS,)),
    )
    return _document(
        passing,
        *(
            _allow(
                f"AllowScopedInstanceProfile{what}Actions",
                actions,
                scope.instance_profiles,
                {"StringEquals": equals, "StringLike": dict.fromkeys((f"{where}{_CLASS}" for where in wheres), "*")},
            )
            for what, actions, equals, wheres in rows
        ),
    )


def _resource_discovery(scope: ArnScope, *, isolated: bool) -> PolicyDocument:
    described = (
        "CapacityReservations Images InstanceStatus InstanceTypeOfferings InstanceTypes Instances LaunchTemplates "
        "PlacementGroups SecurityGroups SpotPriceHistory Subnets"
    )
    in_region = {"StringEquals": {"aws:RequestedRegion": scope.region}}
    parameters = f"arn:{scope.partition}:ssm:{scope.region}::parameter/aws/service/*"
    elsewhere = (
        _allow("AllowPricingReadActions", ["pricing:GetProducts"], "*"),
        _allow("AllowUnscopedInstanceProfileListAction", ["iam:ListInstanceProfiles"], "*"),
        _allow("AllowInstanceProfileReadActions", ["iam:GetInstanceProfile"], scope.instance_profiles),
    )
    return _document(
        _allow("AllowRegionalReadActions", [f"ec2:Describe{what}" for what in described.split()], "*", in_region),
        _allow("AllowSSMReadActions", ["ssm:GetParameter"], parameters),
        *(() if isolated else elsewhere),
    )


def _allow(
    sid: str, actions: Sequence[str], resources: str | list[str], conditions: _Conditions | None = None
) -> Mapping[str, object]:
    statement = {"Sid": sid, "Effect": "Allow", "Action": sorted(actions), "Resource": resources}
    return statement | {"Condition": conditions} if conditions else statement


def _document(*statements: Mapping[str, object]) -> PolicyDocument:
    return {"Version": "2012-10-17", "Statement": list(statements)}
