"""The role of nodes: join the cluster, pull images, use SSM Session Manager; nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_aws import eks, iam

from multiarch.nodes.model import NodeGroupKind

from ..account import Account
from ..component import Component, Naming
from . import policies

# Source: EKS user guide, "Amazon EKS node IAM role"; the last one is for access to nodes, which have no SSH.
MANAGED_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)


@dataclass(frozen=True, slots=True)
class NodeRoleArgs:
    """``kind`` is that of the groups, or None for nodes that Karpenter launches.

    ``session_log_group`` is the log group of SSM sessions, ``session_key_arn`` the key that encrypts them; or None.
    """

    cluster_name: pulumi.Input[str]
    naming: Naming
    account: Account
    kind: NodeGroupKind | None
    session_log_group: str | None
    session_key_arn: pulumi.Input[str] | None


class NodeRole(Component):
    """A role for all managed groups, all self-managed groups, or all nodes of Karpenter.

    They don't share a role: EKS creates the access entry of a managed group's role itself, and deletes it with the last
    managed group; the others must be declared. ``instance_profile_arn`` is set for self-managed groups; Karpenter
    creates profiles itself. ``ready`` is what a node needs before it starts and until it is gone.
    """

    role_arn: pulumi.Output[str]
    role_name: pulumi.Output[str]
    instance_profile_arn: pulumi.Output[str] | None
    ready: tuple[pulumi.Resource, ...]

    def __init__(self, name: str, args: NodeRoleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare the role and its policies, and access entry and instance profile where EKS does not create them."""
        super().__init__("NodeRole", name, args.naming, opts)
        which = f"in {args.kind} groups" if args.kind else "that Karpenter launches"
        role = iam.Role(
            name,
            name_prefix=self.prefix(name, 38),
            description=f"Nodes of {self.naming.cluster} {which}",
            assume_role_policy=policies.assumed_by_service(
                pulumi.Output.concat("ec2.", args.account.dns_suffix), "Nodes"
            ),
            tags=self.tags(name),
            opts=self.child(name),
        )
        ready: list[pulumi.Resource] = [
            iam.RolePolicyAttachment(
                f"{name}-{policy}",
                role=role.name,
                policy_arn=args.account.managed_policy(policy),
                opts=self.child(f"{name}-{policy}"),
            )
            for policy in MANAGED_POLICIES
        ]
        sessions = policies.node_sessions(args.account, args.session_log_group, args.session_key_arn)
        if sessions:
            ready.append(
                iam.RolePolicy(
                    f"{name}-session-logs",
                    name="session-logs",
                    role=role.name,
                    policy=sessions,
                    opts=self.child(f"{name}-session-logs"),
                )
            )
        self.role_arn = role.arn
        self.role_name = role.name
        self.instance_profile_arn = None
        if args.kind is NodeGroupKind.SELF_MANAGED:
            profile = iam.InstanceProfile(
                name,
                name_prefix=self.prefix(name, 38),
                role=role.name,
                tags=self.tags(name),
                opts=self.child(name),
            )
            self.instance_profile_arn = profile.arn
        if args.kind is not NodeGroupKind.MANAGED:
            entry = eks.AccessEntry(
                name,
                cluster_name=args.cluster_name,
                principal_arn=role.arn,
                type="EC2_LINUX",
                tags=self.tags(name),
                opts=self.child(name),
            )
            ready.append(entry)
        self.ready = tuple(ready)
        self.register_outputs({"roleArn": self.role_arn, "instanceProfileArn": self.instance_profile_arn})
