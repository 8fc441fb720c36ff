"""Roles of pods, by EKS Pod Identity: one role for one service account of one cluster."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_aws import eks, iam

from components import policies
from components.component import Component
from components.kubernetes_api import NAMESPACE


def declare_role(owner: Component, name: str, *, service_account: str, description: str) -> iam.Role:
    """Declare ``owner``'s role ``name``, which pods of ``service_account`` in ``kube-system`` may assume."""
    return iam.Role(
        name,
        name_prefix=owner.prefix(name, 38),
        description=description,
        assume_role_policy=policies.assumed_by_pods(
            cluster=owner.naming.cluster, namespace=NAMESPACE, service_account=service_account
        ),
        tags=owner.tags(name),
        opts=owner.child(name),
    )


def associate(
    owner: Component,
    name: str,
    role: iam.Role,
    *,
    cluster_name: pulumi.Input[str],
    service_account: str,
    rights: Sequence[pulumi.Resource],
) -> eks.PodIdentityAssociation:
    """Give the pods the role. ``rights`` are its policies, which must exist before a pod gets credentials."""
    return eks.PodIdentityAssociation(
        name,
        cluster_name=cluster_name,
        namespace=NAMESPACE,
        service_account=service_account,
        role_arn=role.arn,
        tags=owner.tags(name),
        opts=owner.child(name, depends_on=rights),
    )
