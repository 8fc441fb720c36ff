"""Stand-in for EKS's Pod Identity webhook: an admission policy that adds what the webhook adds to a pod's containers.

The API server evaluates it where it would call the webhook: among the mutating steps, before what validates.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from components.iam.pod_identity import CREDENTIALS
from sandbox.cluster.kube import Kube, Object
from tests.cluster.karpenter import NAMESPACE

_ADMISSION = "admissionregistration.k8s.io/v1"
_NAME = "pod-identity-webhook"
_ADDED = f"Object.spec.containers.env{{name: '{CREDENTIALS}', value: 'http://169.254.170.23/v1/credentials'}}"


def _manifests(service_accounts: list[str]) -> tuple[Object, Object]:
    names = ", ".join(f"'{name}'" for name in service_accounts)
    added = (
        "Object{spec: Object.spec{containers: object.spec.containers.map(each, Object.spec.containers{"
        f"name: each.name, env: [{_ADDED}]}})}}}}"
    )
    policy = {
        "apiVersion": _ADMISSION,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": _NAME},
        "spec": {
            "reinvocationPolicy": "Never",
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ],
            },
            "matchConditions": [
                {
                    "name": "associated",
                    "expression": f"has(object.spec.serviceAccountName) && object.spec.serviceAccountName in [{names}]",
                }
            ],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": added}}],
        },
    }
    binding = {
        "apiVersion": _ADMISSION,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": _NAME},
        "spec": {"policyName": _NAME},
    }
    return policy, binding


@contextmanager
def in_effect(kube: Kube, *service_accounts: str) -> Iterator[None]:
    """Give pods of these service accounts in ``kube-system`` credentials, as EKS does with associations in effect."""
    manifests = _manifests(list(service_accounts))
    for each in manifests:
        kube.apply(each)
    try:
        yield
    finally:
        for each in reversed(manifests):
            kube.delete(each)
