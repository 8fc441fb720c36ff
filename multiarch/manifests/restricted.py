"""How containers run where Pod Security ``restricted`` is enforced, and a service account with what it may do.

Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Object = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
_USER = 65532
"""The unprivileged user of the project's image."""


def list_enforced_labels(standard: str = "restricted") -> dict[str, str]:
    """Return labels of a namespace whose pods must meet the standard."""
    return {f"pod-security.kubernetes.io/{mode}": standard for mode in ("enforce", "audit", "warn")}


def build_pod_security() -> Object:
    """Return the security context of a pod."""
    return {
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "runAsGroup": _USER,
        "fsGroup": _USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def build_container_security() -> Object:
    """Return the security context of a container that writes nothing outside of its volumes."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def build_placeholder(image: str, resources: Object) -> Object:
    """Return a container that keeps room on a node: it requests ``resources``, and sleeps."""
    return {
        "name": "placeholder",
        "image": image,
        "resources": resources,
        "securityContext": build_container_security(),
    }


def build_service_account(metadata: Mapping[str, Any]) -> Object:
    """Return a ServiceAccount; its pods say themselves whether they get its token."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata,
        "automountServiceAccountToken": False,
    }


def grant_role(metadata: Mapping[str, Any], rules: list[Object], name: str, namespace: str) -> Iterator[Object]:
    """Build a Role and RoleBinding for the service account ``name``; a ClusterRole if ``metadata`` has no namespace.

    ``namespace`` is the service account's.
    """
    prefix = "" if "namespace" in metadata else "Cluster"
    yield {"apiVersion": f"{RBAC}/v1", "kind": f"{prefix}Role", "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{prefix}RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": f"{prefix}Role", "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
