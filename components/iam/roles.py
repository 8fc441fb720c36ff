"""Roles, and what is attached to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import eks, iam

from ..component import Component


@dataclass(frozen=True, slots=True)
class Role:
    """A role that the stack declares, or an ``existing`` one, to which it attaches nothing."""

    resource: iam.Role
    arn: pulumi.Input[str]
    name: pulumi.Input[str]
    existing: bool = False


def declare_role(owner: Component, name: str, description: str, trust: pulumi.Input[str]) -> Role:
    """Declare ``owner``'s role ``name``, or read the existing one; ``trust`` says who may assume it."""
    settings = owner.naming.iam
    if arn := settings.roles.get(name):
        physical = arn.rpartition("/")[2]
        return Role(iam.Role.get(name, physical, opts=owner.child()), arn, physical, existing=True)
    made = iam.Role(
        name,
        name_prefix=owner.prefix(name, 38),
        description=description,
        assume_role_policy=trust,
        path=owner.naming.path,
        permissions_boundary=settings.permissions_boundary,
        tags=owner.tags(name),
        opts=owner.child(),
    )
    return Role(made, made.arn, made.name)


def attach_managed(owner: Component, name: str, role: Role, policy: str) -> list[pulumi.Resource]:
    """Attach a policy that AWS manages, or any by its ARN; return what was declared: nothing for an existing role."""
    if role.existing:
        return []
    arn = policy if policy.startswith("arn:") else owner.account.managed_policy(policy)
    return [iam.RolePolicyAttachment(name, role=role.name, policy_arn=arn, opts=owner.child())]


def give_inline(
    owner: Component, name: str, role: Role, policy: pulumi.Input[str], physical: str | None = None
) -> list[pulumi.Resource]:
    """Give a role an inline policy, which is called ``name`` or ``physical``; return what was declared."""
    if role.existing:
        return []
    return [iam.RolePolicy(name, name=physical or name, role=role.name, policy=policy, opts=owner.child())]


def give_policies(owner: Component, name: str, role: Role, managed: Sequence[str], own: str) -> list[pulumi.Resource]:
    """Give a role ``managed`` policies, by their ARNs or as AWS names them, and its ``own`` (JSON), unless empty."""
    made = [each for policy in managed for each in attach_managed(owner, _name_attachment(name, policy), role, policy)]
    return [*made, *(give_inline(owner, name, role, own) if own else ())]


def give_access(
    owner: Component,
    name: str,
    cluster_name: pulumi.Input[str],
    role: Role,
    type_: str,
    policy: str = "",
    tag: str = "",
) -> pulumi.Resource:
    """Give a role an access entry of a cluster, and an EKS access policy for all of it; return what comes last.

    ``tag`` is the name in its tags, if not ``name``. Source: EKS API reference, CreateAccessEntry.
    """
    entry = eks.AccessEntry(
        name,
        cluster_name=cluster_name,
        principal_arn=role.arn,
        type=type_ or None,
        tags=owner.tags(tag or name),
        opts=owner.child(),
    )
    if not policy:
        return entry
    return eks.AccessPolicyAssociation(
        name,
        cluster_name=cluster_name,
        principal_arn=role.arn,
        policy_arn=owner.account.access_policy(policy),
        access_scope=eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
        opts=owner.child(depends_on=[entry]),
    )


def _name_attachment(role: str, policy: str) -> str:
    """Return a logical name that stays when other policies come and go: an attachment that is replaced is detached."""
    owner, _, name = policy.removeprefix("arn:").rpartition(":policy/")
    account = owner.rpartition(":")[2]
    return f"{role}-{name}" if account in ("", "aws") else f"{role}-{account}-{name}"
