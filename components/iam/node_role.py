"""The role of nodes: join the cluster, pull images, use SSM Session Manager; nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pulumi
from pulumi_aws import iam

from multiarch.nodes.model import NodeGroupKind

from ..component import Child, Component
from . import policies, roles

_CNI_IPV4 = "AmazonEKS_CNI_Policy"
# Source: EKS user guide, "Amazon EKS node IAM role"; the last one is for access to nodes, which have no SSH.
MANAGED_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    _CNI_IPV4,
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)


class NodeRole(Child):
    """A role for all managed groups, all self-managed groups, or all nodes of Karpenter.

    They don't share a role: EKS creates the access entry of a managed group's role itself, and deletes it with the last
    managed group; the others must be declared. ``instance_profile`` is set for self-managed groups; Karpenter creates
    profiles itself, unless it can't reach IAM. ``needs_aws_auth``: nodes join only with a line in the ConfigMap
    ``aws-auth``. ``ready`` is what a node needs before it starts and until it is gone.
    """

    role_arn: pulumi.Output[str]
    role_name: pulumi.Output[str]
    instance_profile: iam.InstanceProfile | None
    needs_aws_auth: bool
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        owner: Component,
        cluster_name: pulumi.Input[str],
        kind: NodeGroupKind | None,
        own: Mapping[str, pulumi.Output[str]] = MappingProxyType({}),
        *,
        takes_access_entries: bool = True,
        with_profile: bool = False,
    ) -> None:
        """Declare the role and its policies, and access entry and instance profile where EKS does not create them.

        ``kind`` is that of the groups, or None for nodes that Karpenter launches; ``own`` are policies by name,
        such as that of :func:`policies.node_sessions`; ``takes_access_entries``: the cluster's authentication mode has
        them; ``with_profile``: Karpenter can't create one.
        """
        super().__init__(name, owner)
        which = f"in {kind} groups" if kind else "that Karpenter launches"
        trust = policies.assumed_by_service(pulumi.Output.concat("ec2.", self.account.dns_suffix), "Nodes")
        role = roles.declare_role(self, name, f"Nodes of {self.naming.cluster} {which}", trust)
        managed = [each for each in MANAGED_POLICIES if each != _CNI_IPV4 or policies.CNI_IPV6 not in own]
        ready = attach_node_policies(self, name, role, managed)
        for key, policy in own.items():
            ready += roles.give_inline(self, f"{name}-{key}", role, policy, key)
        self.role_arn = pulumi.Output.from_input(role.arn)
        self.role_name = pulumi.Output.from_input(role.name)
        self.instance_profile = None
        if kind is NodeGroupKind.SELF_MANAGED or with_profile:
            self.instance_profile = declare_profile(self, name, role.name)
        joins_by_itself = kind is NodeGroupKind.MANAGED
        self.needs_aws_auth = not (joins_by_itself or takes_access_entries)
        if takes_access_entries and not joins_by_itself:
            ready.append(roles.give_access(self, name, cluster_name, role, "EC2_LINUX"))
        self.ready = tuple(ready)
        profile_arn = self.instance_profile.arn if self.instance_profile else None
        self.register_outputs({"roleArn": self.role_arn, "instanceProfileArn": profile_arn})


def declare_profile(owner: Component, name: str, role: pulumi.Input[str]) -> iam.InstanceProfile:
    """Declare an instance profile of a role, by its name."""
    return iam.InstanceProfile(
        name,
        name_prefix=owner.prefix(name, 38),
        role=role,
        path=owner.naming.path,
        tags=owner.tags(name),
        opts=owner.child(),
    )


def attach_node_policies(owner: Component, name: str, role: roles.Role, own: Sequence[str]) -> list[pulumi.Resource]:
    """Give the role ``name`` the policies of AWS that nodes need, by their names, and those of the stack."""
    # Policies of the account may have names of AWS's.
    wanted = {arn.partition(":iam::")[2].replace(":", "-"): arn for arn in owner.naming.iam.node_policies}
    extra = {f"{name}-{each}": arn for each, arn in wanted.items() if each.removeprefix("aws-policy/") not in own}
    rows = {**{f"{name}-{policy}": policy for policy in own}, **extra}
    made = [each for child, policy in rows.items() for each in roles.attach_managed(owner, child, role, policy)]
    if repositories := owner.naming.iam.pull_through_repositories:
        document = policies.create_repositories(owner.account, repositories)
        made += roles.give_inline(owner, f"{name}-pull-through", role, document, "pull-through")
    return made
