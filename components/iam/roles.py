"""Roles, and what is attached to them."""

from __future__ import annotations

import pulumi
from pulumi_aws import iam

from ..component import Component


def declare_role(owner: Component, name: str, description: str, trust: pulumi.Input[str]) -> iam.Role:
    """Declare ``owner``'s role ``name``; ``trust`` says who may assume it."""
    return iam.Role(
        name,
        name_prefix=owner.prefix(name, 38),
        description=description,
        assume_role_policy=trust,
        tags=owner.tags(name),
        opts=owner.child(),
    )


def attach_managed(owner: Component, name: str, role: iam.Role, policy: str) -> iam.RolePolicyAttachment:
    """Attach a policy that AWS manages, or any by its ARN."""
    arn = policy if policy.startswith("arn:") else owner.account.managed_policy(policy)
    return iam.RolePolicyAttachment(name, role=role.name, policy_arn=arn, opts=owner.child())


def give_inline(
    owner: Component, name: str, role: iam.Role, policy: pulumi.Input[str], physical: str | None = None
) -> iam.RolePolicy:
    """Give a role an inline policy, which is called ``name`` or ``physical``."""
    return iam.RolePolicy(name, name=physical or name, role=role.name, policy=policy, opts=owner.child())
