"""Roles of pods, by EKS Pod Identity: one role for one service account of one cluster."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_aws import eks

from ..component import After, Component
from ..kubernetes_api import NAMESPACE, ChildInCluster, Manifest
from . import roles
from .policies import assumed_by_pods

CREDENTIALS = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
"""The environment variable by which AWS's SDKs find the Pod Identity agent; EKS sets it when a pod is created."""
_ADMISSION = "admissionregistration.k8s.io/v1"


def declare_role(
    owner: Component, name: str, service_account: str, description: str, namespace: str = NAMESPACE
) -> roles.Role:
    """Declare ``owner``'s role ``name``, which pods of ``service_account`` may assume."""
    trust = assumed_by_pods(
        account=owner.account, cluster=owner.naming.cluster, namespace=namespace, service_account=service_account
    )
    return roles.declare_role(owner, name, description, trust)


def give_policy(
    owner: ChildInCluster,
    name: str,
    description: str,
    policy: pulumi.Input[str],
    *,
    after: After | None = None,
    namespace: str = NAMESPACE,
) -> list[pulumi.Resource]:
    """Give pods of the service account ``name`` a role with one inline policy, as :func:`associate` does."""
    role = declare_role(owner, name, name, description, namespace)
    return associate(owner, name, role, roles.give_inline(owner, name, role, policy), after=after, namespace=namespace)


def associate(
    owner: ChildInCluster,
    name: str,
    role: roles.Role,
    policies: Sequence[pulumi.Resource],
    *,
    after: After | None = None,
    namespace: str = NAMESPACE,
) -> list[pulumi.Resource]:
    """Give pods of the service account ``name`` a role; return what must exist before they start.

    ``policies`` are the role's, which come first; ``after`` comes before all objects, the nodes by default.

    The guard of :func:`guard_manifests` comes before the association, which takes effect some seconds after the API
    call, and EKS adds credentials only when a pod is created: a pod that is created earlier never gets them, however
    often it restarts. A rejected pod is created again by its ReplicaSet, until it gets them.
    Source: EKS API reference, CreatePodIdentityAssociation.
    """
    guards: list[pulumi.Resource] = []
    for manifest in guard_manifests(name, namespace):
        guards.append(owner.declare_object(f"{name}-credentials", manifest, guards or after))
    before = [*policies, *guards]
    association = eks.PodIdentityAssociation(
        name,
        cluster_name=owner.cluster.cluster_name,
        namespace=namespace,
        service_account=name,
        role_arn=role.arn,
        tags=owner.tags(name),
        opts=owner.child(depends_on=before),
    )
    return [*before, association]


def guard_manifests(service_account: str, namespace: str = NAMESPACE) -> tuple[Manifest, Manifest]:
    """Return a policy that rejects pods of ``service_account`` in ``namespace`` without credentials, and its binding.

    Other pods are not looked at. Any container counts: EKS sets the variable in all that it sees, and a container that
    another webhook adds later has none.
    """
    name = f"multiarch-eks-{service_account}-credentials"
    policy: Manifest = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            # The API server evaluates the expressions itself: no webhook can be down. An error in them rejects too.
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
