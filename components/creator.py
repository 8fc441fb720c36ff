"""Who creates the cluster, which is known before it is created."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws

from multiarch.errors import StackError
from multiarch.stack.checks.access import creator_problem
from multiarch.stack.load import Stack


def refuse_creator_in_access(stack: Stack, cluster: str, opts: pulumi.InvokeOptions | None = None) -> None:
    """Refuse a stack that gives an access entry to whoever creates ``cluster`` in this run; a preview warns.

    EKS would refuse the entry once the cluster is built. A cluster that exists was created by somebody else, or the
    entry is there already. A preview may be run by another role than the update, and that role may well be listed: one
    of the build agent, for merge requests. ``opts`` name the AWS provider to ask. Raises StackError.
    """
    if not (stack.spec.access.admins or stack.spec.access.readers):
        return
    problem = creator_problem(stack.spec.access, aws.get_caller_identity(opts=opts).arn, stack.origin)
    # Asked only then: the other runs need no eks:ListClusters.
    if not problem or cluster in aws.eks.get_clusters(opts=opts).names:
        return
    if not pulumi.runtime.is_dry_run():
        raise StackError([problem])
    pulumi.log.warn(f"{problem} `pulumi up` by this role or user is refused. [{problem.rule}]")
