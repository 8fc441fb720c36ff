"""IAM and KMS policy documents, each with the least permissions for one purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from components.account import Account

VERSION = "2012-10-17"

Statement = Mapping[str, object]


def document(statements: Sequence[Statement]) -> pulumi.Output[str]:
    """A policy as JSON with sorted keys: the same statements give the same bytes."""
    return pulumi.Output.json_dumps({"Version": VERSION, "Statement": list(statements)}, sort_keys=True)


def assumed_by_service(service: pulumi.Input[str], sid: str) -> pulumi.Output[str]:
    """Trust policy for an AWS service, such as ``ec2.amazonaws.com``."""
    return document([{"Sid": sid, "Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}])


def assumed_by_pods(*, cluster: str, namespace: str, service_account: str) -> pulumi.Output[str]:
    """Trust policy for EKS Pod Identity, for one service account of one cluster.

    Pod Identity adds cluster, namespace and service account to the request as session tags, which needs
    ``sts:TagSession``. Source: EKS user guide, "Create IAM role with trust policy required by EKS Pod
    Identity".
    """
    wanted = {
        "aws:RequestTag/eks-cluster-name": cluster,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    return document(
        [
            {
                "Sid": "PodIdentity",
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Condition": {"StringEquals": wanted},
            }
        ]
    )


def key_policy(account: Account, log_groups: Sequence[pulumi.Input[str]]) -> pulumi.Output[str]:
    """The stack's KMS key policy: IAM decides, and CloudWatch Logs may use the key for these log groups (ARNs) only.

    The first statement grants nothing by itself: it enables the account's IAM policies, without which the key could
    never be changed again. EKS needs no statement: it uses a grant of the principal that creates the cluster.
    Source: CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS".
    """
    root = pulumi.Output.concat("arn:", account.partition, ":iam::", account.id, ":root")
    statements: list[Statement] = [
        {"Sid": "IamDecides", "Effect": "Allow", "Principal": {"AWS": root}, "Action": "kms:*", "Resource": "*"}
    ]
    if log_groups:
        logs = pulumi.Output.concat("logs.", account.region, ".", account.dns_suffix)
        statements.append(
            {
                "Sid": "CloudWatchLogs",
                "Effect": "Allow",
                "Principal": {"Service": logs},
                "Action": ["kms:Decrypt*", "kms:Describe*", "kms:Encrypt*", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
                "Resource": "*",
                "Condition": {"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": list(log_groups)}},
            }
        )
    return document(statements)


def session_logs(account: Account, log_group: str) -> pulumi.Output[str]:
    """What the SSM agent on a node needs to log sessions to one log group.

    ``DescribeLogGroups`` can't be limited to one group: the agent lists to see whether the group is encrypted.
    Source: Systems Manager user guide, "Create a custom IAM role for Session Manager".
    """
    streams = account.arn("logs", f"log-group:{log_group}:*")
    return document(
        [
            {
                "Sid": "ListLogGroups",
                "Effect": "Allow",
                "Action": "logs:DescribeLogGroups",
                "Resource": account.arn("logs", "log-group:*"),
            },
            {
                "Sid": "WriteSessions",
                "Effect": "Allow",
                "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                "Resource": streams,
            },
        ]
    )
