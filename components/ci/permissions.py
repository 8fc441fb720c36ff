"""What roles of CI may do: what a preview with refresh reads, prices, the state of Pulumi's stacks, pushing images.

A preview runs the code of its branch, which anybody who may push can change: its role must not be able to write. The
actions are those with which the AWS provider reads each resource type that the components declare; no action has a
wildcard, and actions that IAM can limit to resources are limited to the account's.
Source: Service Authorization Reference (which resource types an action takes), API references of the services.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pulumi

from ..account import Account
from ..iam import policies

Reads = Mapping[str, str]
"""Actions, separated by spaces, by the resources that they can be limited to, without the ARN's first part.

An empty string stands for actions that take no resource.
"""

READS: Mapping[str, Reads] = MappingProxyType(
    {
        "aws:autoscaling/group:Group": {"": "autoscaling:DescribeAutoScalingGroups"},
        "aws:autoscaling/lifecycleHook:LifecycleHook": {"": "autoscaling:DescribeLifecycleHooks"},
        "aws:autoscaling/tag:Tag": {"": "autoscaling:DescribeTags"},
        "aws:cloudwatch/eventRule:EventRule": {"rule/*": "events:DescribeRule events:ListTagsForResource"},
        "aws:cloudwatch/eventTarget:EventTarget": {"rule/*": "events:ListTargetsByRule"},
        "aws:cloudwatch/logGroup:LogGroup": {"log-group:*": "logs:DescribeLogGroups logs:ListTagsForResource"},
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": {"": "ec2:DescribeSecurityGroups"},
        "aws:ec2/egressOnlyInternetGateway:EgressOnlyInternetGateway": {"": "ec2:DescribeEgressOnlyInternetGateways"},
        "aws:ec2/eip:Eip": {"": "ec2:DescribeAddresses", "elastic-ip/*": "ec2:DescribeAddressesAttribute"},
        "aws:ec2/flowLog:FlowLog": {"": "ec2:DescribeFlowLogs"},
        "aws:ec2/internetGateway:InternetGateway": {"": "ec2:DescribeInternetGateways"},
        "aws:ec2/launchTemplate:LaunchTemplate": {"": "ec2:DescribeLaunchTemplates ec2:DescribeLaunchTemplateVersions"},
        "aws:ec2/natGateway:NatGateway": {"": "ec2:DescribeNatGateways"},
        "aws:ec2/route:Route": {"": "ec2:DescribeRouteTables"},
        "aws:ec2/routeTable:RouteTable": {"": "ec2:DescribeRouteTables"},
        "aws:ec2/routeTableAssociation:RouteTableAssociation": {"": "ec2:DescribeRouteTables"},
        "aws:ec2/securityGroup:SecurityGroup": {"": "ec2:DescribeSecurityGroups"},
        "aws:ec2/subnet:Subnet": {"": "ec2:DescribeSubnets"},
        "aws:ec2/tag:Tag": {"": "ec2:DescribeTags"},
        "aws:ec2/vpc:Vpc": {
            "": "ec2:DescribeNetworkAcls ec2:DescribeRouteTables ec2:DescribeSecurityGroups ec2:DescribeVpcs",
            "vpc/*": "ec2:DescribeVpcAttribute",
        },
        "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": {"": "ec2:DescribeVpcs"},
        "aws:ec2/vpcEndpoint:VpcEndpoint": {"": "ec2:DescribePrefixLists ec2:DescribeVpcEndpoints"},
        "aws:eks/accessEntry:AccessEntry": {"access-entry/*": "eks:DescribeAccessEntry"},
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": {
            "access-entry/*": "eks:ListAssociatedAccessPolicies"
        },
        "aws:eks/addon:Addon": {"addon/*": "eks:DescribeAddon"},
        "aws:eks/cluster:Cluster": {"cluster/*": "eks:DescribeCluster"},
        "aws:eks/fargateProfile:FargateProfile": {"fargateprofile/*": "eks:DescribeFargateProfile"},
        "aws:eks/nodeGroup:NodeGroup": {"nodegroup/*": "eks:DescribeNodegroup"},
        "aws:eks/podIdentityAssociation:PodIdentityAssociation": {
            "podidentityassociation/*": "eks:DescribePodIdentityAssociation"
        },
        "aws:iam/instanceProfile:InstanceProfile": {
            "instance-profile/*": "iam:GetInstanceProfile iam:ListInstanceProfileTags"
        },
        "aws:iam/openIdConnectProvider:OpenIdConnectProvider": {"oidc-provider/*": "iam:GetOpenIDConnectProvider"},
        "aws:iam/policy:Policy": {"policy/*": "iam:GetPolicy iam:GetPolicyVersion iam:ListPolicyTags"},
        "aws:iam/role:Role": {
            "role/*": "iam:GetRole iam:GetRolePolicy iam:ListAttachedRolePolicies iam:ListRolePolicies iam:ListRoleTags"
        },
        "aws:iam/rolePolicy:RolePolicy": {"role/*": "iam:GetRolePolicy"},
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment": {"role/*": "iam:ListAttachedRolePolicies"},
        "aws:kms/alias:Alias": {"": "kms:ListAliases"},
        "aws:kms/key:Key": {"key/*": "kms:DescribeKey kms:GetKeyPolicy kms:GetKeyRotationStatus kms:ListResourceTags"},
        "aws:sqs/queue:Queue": {"*": "sqs:GetQueueAttributes sqs:ListQueueTags"},
        "aws:sqs/queuePolicy:QueuePolicy": {"*": "sqs:GetQueueAttributes"},
        "aws:ssm/document:Document": {
            "document/*": "ssm:DescribeDocument ssm:DescribeDocumentPermission ssm:GetDocument ssm:ListTagsForResource"
        },
    }
)
"""What the AWS provider calls to read a resource, by type."""

LOOK_UPS: Mapping[str, Reads] = MappingProxyType(
    {
        "aws:eks/getCluster:getCluster": {"cluster/*": "eks:DescribeCluster"},
        "aws:eks/getClusters:getClusters": {"": "eks:ListClusters"},
        "aws:index/getAvailabilityZones:getAvailabilityZones": {"": "ec2:DescribeAvailabilityZones"},
        "aws:index/getCallerIdentity:getCallerIdentity": {},  # sts:GetCallerIdentity needs no permission
        "aws:index/getPartition:getPartition": {},
        "aws:index/getRegion:getRegion": {},
        "aws:ssm/getParameter:getParameter": {"parameter/aws/service/*": "ssm:GetParameter"},
    }
)
"""What the components' look-ups call, by function."""

CHECKS: Reads = {"cluster/*": "eks:ListNodegroups"}
"""What the program calls before the first change on an existing cluster, in addition to what the provider calls."""

PRICES: Reads = {"": "ec2:DescribeSpotPriceHistory pricing:GetProducts"}
"""What ``multiarch prices fetch`` calls, for the costs in a review."""

_ANY = "*"


@dataclass(frozen=True, slots=True)
class State:
    """The S3 bucket with Pulumi's state, and keys of KMS: of the stacks' secrets provider, of the bucket's encryption.

    Without ``bucket``, its name, the state is elsewhere (Pulumi Cloud), and the roles get no access to a bucket.
    """

    bucket: pulumi.Input[str] | None = None
    key_arns: Sequence[pulumi.Input[str]] = ()

    def access(self, account: Account, *, write: bool) -> list[policies.Statement]:
        """Return statements to read the state, or also to write it: a preview takes no lock.

        Decrypting is needed for both: inputs of resources are compared in clear text.
        """
        objects = ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"] if write else ["s3:GetObject"]
        key = ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"] if write else ["kms:Decrypt"]
        statements: list[policies.Statement] = []
        if self.bucket is not None:
            bucket = pulumi.Output.concat("arn:", account.partition, ":s3:::", self.bucket)
            statements.append(policies.allow("ListState", ["s3:ListBucket"], bucket))
            statements.append(policies.allow("State", objects, pulumi.Output.concat(bucket, "/*")))
        if self.key_arns:
            statements.append(policies.allow("StateKeys", key, list(self.key_arns)))
        return statements


def preview(account: Account, state: State) -> pulumi.Output[str]:
    """Return what a preview with refresh and a review with prices need, in every region of the account."""
    rows = (*READS.values(), *LOOK_UPS.values(), CHECKS, PRICES)
    return policies.document([*_reads(account, rows), *state.access(account, write=False)])


def push_images(account: Account, repositories: Sequence[str]) -> pulumi.Output[str]:
    """Return what pushing to repositories of Amazon ECR needs, and reading what was pushed; names in this account.

    Source: Amazon ECR user guide, "IAM permissions for pushing an image to an Amazon ECR private repository".
    """
    actions = [
        "BatchCheckLayerAvailability",
        "BatchGetImage",
        "CompleteLayerUpload",
        "GetDownloadUrlForLayer",
        "InitiateLayerUpload",
        "PutImage",
        "UploadLayerPart",
    ]
    arns = [_arn(account, "ecr", f"repository/{name}") for name in repositories]
    return policies.document(
        [
            policies.allow("LogIn", ["ecr:GetAuthorizationToken"], _ANY),
            policies.allow("Images", [f"ecr:{action}" for action in actions], arns),
        ]
    )


def require_boundary(boundary: pulumi.Input[str]) -> pulumi.Output[str]:
    """Return a denial of roles without ``boundary``, and of its removal, also from roles that have it.

    Source: IAM user guide, "Permissions boundaries for IAM entities", "Delegating responsibility to others using
    permissions boundaries".
    """
    other = {"StringNotEquals": {"iam:PermissionsBoundary": boundary}}
    widens = [
        "iam:AttachRolePolicy",
        "iam:CreateRole",
        "iam:PutRolePermissionsBoundary",
        "iam:PutRolePolicy",
    ]
    changes = ["iam:CreatePolicyVersion", "iam:DeletePolicy", "iam:DeletePolicyVersion", "iam:SetDefaultPolicyVersion"]
    return policies.document(
        [
            policies.deny("RolesHaveTheBoundary", widens, "*", other),
            policies.deny("TheBoundaryStays", changes, boundary),
            policies.deny("RolesKeepTheBoundary", "iam:DeleteRolePermissionsBoundary"),
        ]
    )


def _reads(account: Account, rows: Iterable[Reads]) -> list[policies.Statement]:
    """Return one statement for all actions that take no resource, and one for each kind of resource, sorted."""
    by_resource: dict[tuple[str, str], set[str]] = {}
    for resource, actions in (pair for row in rows for pair in row.items()):
        for action in actions.split():
            service = action.partition(":")[0] if resource else ""
            by_resource.setdefault((service, resource or _ANY), set()).add(action)
    return [
        policies.allow(_sid(service, resource), sorted(found), _arn(account, service, resource) if service else _ANY)
        for (service, resource), found in sorted(by_resource.items())
    ]


def _sid(service: str, resource: str) -> str:
    words = f"read {service} {resource}".replace("-", " ").replace("/", " ").replace(":", " ").replace(_ANY, "").split()
    return "".join(word.capitalize() for word in words)


def _arn(account: Account, service: str, resource: str) -> pulumi.Output[str]:
    """Return an ARN of the account, in every region; IAM has no regions, and AWS's public parameters no account."""
    region = "" if service == "iam" else _ANY
    owner = "" if resource.startswith("parameter/aws/") else account.id
    return pulumi.Output.concat("arn:", account.partition, f":{service}:{region}:", owner, f":{resource}")
