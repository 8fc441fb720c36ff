"""Roles of pods, by EKS Pod Identity: one role for one service account of one cluster."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_aws import eks, iam

from . import kubernetes_api, policies
from .account import Account
from .component import Component
from .kubernetes_api import NAMESPACE, Manifest

CREDENTIALS = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
"""The environment variable by which AWS's SDKs find the Pod Identity agent; EKS sets it when a pod is created."""
_ADMISSION = "admissionregistration.k8s.io/v1"


def declare_role(
    owner: Component,
    name: str,
    *,
    account: Account,
    service_account: str,
    description: str,
    namespace: str = NAMESPACE,
) -> iam.Role:
    """Declare ``owner``'s role ``name``, which pods of ``service_account`` may assume."""
    return iam.Role(
        name,
        name_prefix=owner.prefix(name, 38),
        description=description,
        assume_role_policy=policies.assumed_by_pods(
            account=account, cluster=owner.naming.cluster, namespace=namespace, service_account=service_account
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
    after: Sequence[pulumi.Resource],
    namespace: str = NAMESPACE,
) -> eks.PodIdentityAssociation:
    """Give the pods the role. ``after`` are its policies and the guard, which must exist before a pod starts."""
    return eks.PodIdentityAssociation(
        name,
        cluster_name=cluster_name,
        namespace=namespace,
        service_account=service_account,
        role_arn=role.arn,
        tags=owner.tags(name),
        opts=owner.child(name, depends_on=after),
    )


def give_repositories(
    owner: Component,
    name: str,
    repositories: Sequence[str],
    *,
    account: Account,
    cluster_name: pulumi.Input[str],
    description: str,
    provider: pulumi.ProviderResource,
    ready: Sequence[pulumi.Resource],
    namespace: str,
) -> list[pulumi.Resource]:
    """Let pods of the service account ``name`` read repositories of Amazon ECR; return what must come before them.

    ``repositories`` are names or ARNs, possibly with ``*``.
    """
    role = declare_role(
        owner, name, account=account, service_account=name, description=description, namespace=namespace
    )
    policy = iam.RolePolicy(
        name,
        name=name,
        role=role.name,
        policy=policies.read_repositories(account, repositories),
        opts=owner.child(name),
    )
    before = [policy, *guard(owner, name, service_account=name, provider=provider, ready=ready, namespace=namespace)]
    association = associate(
        owner, name, role, cluster_name=cluster_name, service_account=name, after=before, namespace=namespace
    )
    return [*before, association]


def guard(
    owner: Component,
    name: str,
    *,
    service_account: str,
    provider: pulumi.ProviderResource,
    ready: Sequence[pulumi.Resource],
    namespace: str = NAMESPACE,
) -> list[pulumi.Resource]:
    """Declare the admission policy of :func:`guard_manifests` and its binding; ``ready`` as for all in the cluster.

    An association takes effect some seconds after the API call, and EKS adds credentials only when a pod is created: a
    pod that is created earlier never gets them, however often it restarts. A refused pod is created again by its
    ReplicaSet, until it gets them. Source: EKS API reference, CreatePodIdentityAssociation.
    """
    resources: list[pulumi.Resource] = []
    for manifest in guard_manifests(service_account, namespace):
        before = resources or ready
        opts = owner.child(f"{name}-credentials", depends_on=before, provider=provider)
        resources.append(kubernetes_api.declare_object(f"{name}-credentials", manifest, opts))
    return resources


def guard_manifests(service_account: str, namespace: str = NAMESPACE) -> tuple[Manifest, Manifest]:
    """A policy that refuses pods of ``service_account`` in ``namespace`` without credentials, and its binding.

    Other pods are not looked at. Any container counts: EKS sets the variable in all that it sees, and a container that
    another webhook adds later has none.
    """
    name = f"multiarch-eks-{service_account}-credentials"
    policy: Manifest = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            # The API server evaluates the expressions itself: no webhook can be down. An error in them refuses too.
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ],
            },
            "matchConditions": [
                {
                    "name": "service-account",
                    "expression": "has(object.spec.serviceAccountName) && "
                    f"object.spec.serviceAccountName == '{service_account}'",
                }
            ],
            "validations": [
                {
                    "expression": "object.spec.containers.exists(each, has(each.env) && "
                    f"each.env.exists(variable, variable.name == '{CREDENTIALS}'))",
                    "message": f"EKS Pod Identity gave this pod of service account {namespace}/{service_account} no "
                    "credentials: the association is not in effect yet. The pod is created again.",
                    "reason": "Forbidden",
                }
            ],
        },
    }
    binding: Manifest = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return policy, binding
