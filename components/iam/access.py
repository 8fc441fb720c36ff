"""Access to a cluster: the command for a session, who may have an entry, the AWS CLI."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from multiarch.aws_cli import require_aws_cli
from multiarch.errors import StackError
from multiarch.nodes.model import CLUSTER_TAG, GROUP_TAG
from multiarch.stack.checks.access import check_creator
from multiarch.stack.load import Stack


def format_aws_auth(role_arns: Sequence[str]) -> str:
    """Return entries of ``mapRoles`` in the ConfigMap ``aws-auth``, as YAML, with which nodes of these roles join.

    The ConfigMap has ARNs without the role's path. Source: EKS user guide, "Create self-managed nodes",
    aws-auth-cm.yaml, and "Troubleshooting IAM".
    """
    return "".join(
        f"- rolearn: {arn.partition('/')[0]}/{arn.rpartition('/')[2]}\n"
        "  username: system:node:{{EC2PrivateDNSName}}\n"
        "  groups:\n    - system:bootstrappers\n    - system:nodes\n"
        for arn in role_arns
    )


def session_command(cluster: str, group: str, known: Sequence[str]) -> str:
    """Return a POSIX shell command that finds a running node of the group by its tags and opens a session on it.

    ``known`` is the session document's name and the region.
    """
    document, region = known
    find = [
        *("aws", "ec2", "describe-instances", "--region", region, "--filters"),
        f"Name=tag:{CLUSTER_TAG},Values={cluster}",
        f"Name=tag:{GROUP_TAG},Values={group}",
        "Name=instance-state-name,Values=running",
        *("--query", "Reservations[0].Instances[0].InstanceId", "--output", "text"),
    ]
    start = ["aws", "ssm", "start-session", "--region", region, "--document-name", document, "--target"]
    return f'{shlex.join(start)} "$({shlex.join(find)})"'


def reject_creator_in_access(stack: Stack, cluster: str, opts: pulumi.InvokeOptions | None = None) -> None:
    """Reject a stack that gives an access entry to whoever creates ``cluster`` in this run; a preview warns.

    EKS would reject the entry once the cluster is built. A cluster that exists was created by somebody else, or the
    entry is there already. A preview may be run by another role than the update, and that role may well be listed: one
    of the build agent, for merge requests. ``opts`` name the AWS provider to query. Raises StackError.
    """
    if not any(stack.spec.access.list_principals()):
        return
    problem = check_creator(stack.spec.access, aws.get_caller_identity(opts=opts).arn, stack.origin)
    # Queried only then: the other runs need no eks:ListClusters.
    if not problem or cluster in aws.eks.get_clusters(opts=opts).names:
        return
    if not pulumi.runtime.is_dry_run():
        raise StackError([problem])
    pulumi.log.warn(f"{problem} `pulumi up` by this role or user is rejected. [{problem.rule}]")


def reject_missing_aws_cli() -> None:
    """Reject a run of this project's program whose plugins can't run the AWS CLI. Raises MultiarchError.

    Pulumi.yaml names a virtual environment, whose programs the language host puts first on PATH. The engine and its
    plugins don't have them. Source: pulumi/pulumi, sdk/python/toolchain, ActivateVirtualEnv.
    """
    added = os.path.join(os.environ.get("VIRTUAL_ENV", ""), "bin") + os.pathsep  # noqa: PTH118 (a part of PATH)
    require_aws_cli(os.environ.get("PATH", "").removeprefix(added))
