"""IAM and KMS policy documents, each with the least permissions for one purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from multiarch.nodes.model import CLUSTER_TAG

from ..account import Account

VERSION = "2012-10-17"
SESSION_LOGS, CNI_IPV6 = "session-logs", "cni-ipv6"
"""Names of policies of nodes' roles: :func:`node_sessions`, :func:`list_cni_policies`."""
IMPORT = "ecr:BatchImportUpstreamImage"
STS = "sts.amazonaws.com"
"""The audience of tokens that IAM roles are assumed with."""

Statement = Mapping[str, object]
Actions = str | Sequence[str]


def document(statements: Sequence[Statement]) -> pulumi.Output[str]:
    """Return a policy as JSON with sorted keys: the same statements give the same bytes."""
    return pulumi.Output.json_dumps({"Version": VERSION, "Statement": list(statements)}, sort_keys=True)


def allow(sid: str, actions: Actions, resource: object = "*", condition: Statement | None = None) -> Statement:
    """Return a statement that allows something."""
    statement = {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}
    return {**statement, "Condition": condition} if condition else statement


def deny(sid: str, actions: Actions, resource: object = "*", condition: Statement | None = None) -> Statement:
    """Return a statement that denies something, whatever other policies allow."""
    return {**allow(sid, actions, resource, condition), "Effect": "Deny"}


def trust(
    sid: str, principal: Statement, actions: Actions = "sts:AssumeRole", condition: Statement | None = None
) -> Statement:
    """Return a statement of a trust policy, which allows a principal to assume the role."""
    statement = {"Sid": sid, "Effect": "Allow", "Principal": principal, "Action": actions}
    return {**statement, "Condition": condition} if condition else statement


def assumed_by_service(service: pulumi.Input[str], sid: str, actions: Actions = "sts:AssumeRole") -> pulumi.Output[str]:
    """Trust policy for an AWS service, such as ``ec2.amazonaws.com``."""
    return document([trust(sid, {"Service": service}, actions)])


def auto_mode_tags() -> pulumi.Output[str]:
    """Return the policy by which EKS Auto Mode may put a NodeClass's tags on what it launches for its cluster.

    AmazonEKSComputePolicy and AmazonEKSNetworkingPolicy allow EKS's own tags only.
    Source: EKS user guide, "Custom AWS tags for EKS Auto resources".
    """
    own = {"aws:RequestTag/eks:eks-cluster-name": "${aws:PrincipalTag/eks:eks-cluster-name}"}
    node = {"aws:RequestTag/eks:kubernetes-node-class-name": "*", "aws:RequestTag/eks:kubernetes-node-pool-name": "*"}
    interface = {"aws:RequestTag/eks:kubernetes-cni-node-name": "*"}
    launch = ["ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"]
    return document(
        [
            allow("Compute", launch, "*", {"StringEquals": own, "StringLike": node}),
            allow("Networking", "ec2:CreateNetworkInterface", "*", {"StringEquals": own, "StringLike": interface}),
        ]
    )


def assumed_by_pods(*, account: Account, cluster: str, namespace: str, service_account: str) -> pulumi.Output[str]:
    """Trust policy for EKS Pod Identity, for one service account of one cluster of one account and region.

    Pod Identity adds cluster, namespace and service account to the request as session tags, which needs
    ``sts:TagSession``; other accounts' clusters may have the same name, so that the source is compared too.
    Source: EKS user guide, "Create IAM role with trust policy required by EKS Pod Identity"; EKS best practices guide,
    "Identity and Access Management".
    """
    wanted = {
        "aws:RequestTag/eks-cluster-name": cluster,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    condition = {
        "StringEquals": {**wanted, "aws:SourceAccount": account.id},
        "ArnEquals": {"aws:SourceArn": account.arn("eks", f"cluster/{cluster}")},
    }
    service, actions = {"Service": "pods.eks.amazonaws.com"}, ["sts:AssumeRole", "sts:TagSession"]
    return document([trust("PodIdentity", service, actions, condition)])


def assumed_by_web_identity(
    provider_arn: pulumi.Input[str], issuer: pulumi.Input[str], namespace: str, service_account: str
) -> pulumi.Output[str]:
    """Trust policy for one service account of a cluster, by its OIDC provider; ``issuer`` is the provider's URL.

    Source: EKS user guide, "Assign IAM roles to Kubernetes service accounts".
    """

    def write(known: Sequence[str]) -> pulumi.Output[str]:
        arn, host = known[0], known[1].removeprefix("https://")
        subject = f"system:serviceaccount:{namespace}:{service_account}"
        condition = {"StringEquals": {f"{host}:aud": STS, f"{host}:sub": subject}}
        return document([trust("Irsa", {"Federated": arn}, "sts:AssumeRoleWithWebIdentity", condition)])

    return pulumi.Output.all(provider_arn, issuer).apply(write)


def key_policy(account: Account, log_groups: Sequence[pulumi.Input[str]]) -> pulumi.Output[str]:
    """Return the policy of the stack's KMS key: IAM decides, and CloudWatch Logs may use it for these log groups.

    The first statement grants nothing by itself: it enables the account's IAM policies, without which the key could
    never be changed again. EKS needs no statement: it uses a grant of the principal that creates the cluster.
    Source: CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS".
    """
    root = pulumi.Output.concat("arn:", account.partition, ":iam::", account.id, ":root")
    statements = [trust("IamDecides", {"AWS": root}, "kms:*")]
    if log_groups:
        logs = pulumi.Output.concat("logs.", account.region, ".", account.dns_suffix)
        actions = ["kms:Decrypt*", "kms:Describe*", "kms:Encrypt*", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
        condition = {"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": list(log_groups)}}
        statements.append(trust("CloudWatchLogs", {"Service": logs}, actions, condition))
    return document([{**statement, "Resource": "*"} for statement in statements])


def read_repositories(account: Account, repositories: Sequence[str]) -> pulumi.Output[str]:
    """Return what reading images of Amazon ECR needs; ``repositories`` are names in this account and region, or ARNs.

    ``GetAuthorizationToken`` can't be limited to repositories; it gives no right to any.
    Source: Amazon ECR user guide, "Amazon ECR Private repository policy examples"; service authorization reference.
    """
    arns = _locate_repositories(account, repositories)
    actions = [f"ecr:{action}" for action in ("BatchCheckLayerAvailability", "BatchGetImage", "GetDownloadUrlForLayer")]
    return document([allow("LogIn", "ecr:GetAuthorizationToken"), allow("ReadImages", actions, arns)])


def create_repositories(account: Account, repositories: Sequence[str], *imports: str) -> pulumi.Output[str]:
    """Return what a pull-through cache needs at the first pull, besides AmazonEC2ContainerRegistryPullOnly.

    That policy has ``BatchImportUpstreamImage``; ``imports`` is :data:`IMPORT` for roles without it.
    Source: Amazon ECR user guide, "IAM permissions required to sync an upstream registry with an Amazon ECR private
    registry".
    """
    actions = ["ecr:CreateRepository", *imports]
    return document(
        [allow("FirstPull", actions if imports else actions[0], _locate_repositories(account, repositories))]
    )


def _locate_repositories(account: Account, repositories: Sequence[str]) -> list[pulumi.Input[str]]:
    return [each if each.startswith("arn:") else account.arn("ecr", f"repository/{each}") for each in repositories]


def node_sessions(
    account: Account, log_group: str | None, key_arn: pulumi.Input[str] | None
) -> pulumi.Output[str] | None:
    """Allow the SSM agent on a node to log sessions to one log group, and to use the key that encrypts them.

    None where both are. ``DescribeLogGroups`` can't be limited to one group: the agent lists to see whether the group
    is encrypted. Source: Systems Manager user guide, "Create a custom IAM role for Session Manager".
    """
    statements: list[Statement] = []
    if log_group:
        writes = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
        statements += [
            allow("ListLogGroups", "logs:DescribeLogGroups", account.arn("logs", "log-group:*")),
            allow("WriteSessions", writes, account.arn("logs", f"log-group:{log_group}:*")),
        ]
    if key_arn:
        statements.append(allow("DecryptSessions", "kms:Decrypt", key_arn))
    return document(statements) if statements else None


def list_cni_policies(account: Account, *, ipv6: bool) -> dict[str, pulumi.Output[str]]:
    """Return what nodes' roles need so that the VPC CNI gives pods addresses, by name, beside AWS's managed policy.

    AWS has none for IPv6. Source: EKS user guide, "Create IAM policy for clusters that use the IPv6 family".
    """
    if not ipv6:
        return {}
    reads = ["ec2:DescribeInstances", "ec2:DescribeInstanceTypes", "ec2:DescribeNetworkInterfaces", "ec2:DescribeTags"]
    interfaces = pulumi.Output.concat("arn:", account.partition, ":ec2:*:*:network-interface/*")
    statements = [
        allow("Addresses", ["ec2:AssignIpv6Addresses", *reads]),
        allow("TagInterfaces", "ec2:CreateTags", interfaces),
    ]
    return {CNI_IPV6: document(statements)}


def assumed_by_flow_logs(account: Account) -> pulumi.Output[str]:
    """Trust policy for VPC flow logs of this account and region.

    Source: VPC user guide, "IAM role for publishing flow logs to CloudWatch Logs".
    """
    condition = {
        "StringEquals": {"aws:SourceAccount": account.id},
        "ArnLike": {"aws:SourceArn": account.arn("ec2", "vpc-flow-log/*")},
    }
    return document([trust("FlowLogs", {"Service": "vpc-flow-logs.amazonaws.com"}, condition=condition)])


def assumed_by_fargate(account: Account, cluster: str) -> pulumi.Output[str]:
    """Trust policy for Fargate pods of one cluster. Source: EKS user guide, "Amazon EKS Pod execution IAM role"."""
    condition = {"ArnLike": {"aws:SourceArn": account.arn("eks", f"fargateprofile/{cluster}/*")}}
    return document([trust("FargatePods", {"Service": "eks-fargate-pods.amazonaws.com"}, condition=condition)])


def write_flow_logs(account: Account, log_group: str) -> pulumi.Output[str]:
    """Return what VPC flow logs need to write to one log group. Source: as of :func:`assumed_by_flow_logs`."""
    actions = ["CreateLogStream", "DescribeLogGroups", "DescribeLogStreams", "PutLogEvents"]
    group = account.arn("logs", f"log-group:{log_group}:*")
    return document([allow("WriteFlowLogs", [f"logs:{action}" for action in actions], group)])


def people_sessions(
    account: Account, *, cluster: str, document_name: str, key_arn: pulumi.Input[str] | None
) -> pulumi.Output[str]:
    """Return what people need to open sessions on a cluster's nodes, with its session document and no other.

    ``key_arn`` encrypts sessions. Without ``ssm:SessionDocumentAccessCheck`` a session that names no document would be
    allowed with the account's default one: not logged, without time limits.
    Source: Systems Manager user guide, "Enforce a session document permission check for the AWS CLI", "Sample IAM
    policies for Session Manager".
    """
    checked = {"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}}
    on_nodes = {**checked, "StringEquals": {f"ssm:resourceTag/{CLUSTER_TAG}": cluster}}
    end = ["ssm:ResumeSession", "ssm:TerminateSession"]
    return document(
        [
            *([allow("EncryptSessions", "kms:GenerateDataKey", key_arn)] if key_arn else []),
            allow("FindNodes", "ec2:DescribeInstances"),
            allow("OnNodes", "ssm:StartSession", account.arn("ec2", "instance/*"), on_nodes),
            allow("WithDocument", "ssm:StartSession", account.arn("ssm", f"document/{document_name}"), checked),
            allow("EndOwnSessions", end, account.arn("ssm", "session/${aws:userid}-*")),
        ]
    )
