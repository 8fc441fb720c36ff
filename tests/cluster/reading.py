"""Accounts and their rights for tests that read a real cluster through ``multiarch.kubernetes``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.cluster.kube import Kube, Object

_RBAC = "rbac.authorization.k8s.io"


def namespace(name: str, **labels: str) -> Object:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def account_token(kube: Kube, name: str, space: str, rules: Sequence[Mapping[str, Any]]) -> str:
    """Make a ServiceAccount that may do what a Role's ``rules`` allow in its namespace; return a token of it."""
    meta = {"name": name, "namespace": space}
    kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    kube.apply({"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": meta, "rules": list(rules)})
    kube.apply(
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": space}],
        }
    )
    return token_of(kube, name, space)


def cluster_role(name: str, rules: Sequence[Mapping[str, Any]]) -> list[Object]:
    """A ClusterRole, and its binding to a ServiceAccount of the namespace ``default``, all of this name."""
    meta = {"name": name}
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]
    made = {"apiVersion": f"{_RBAC}/v1", "metadata": meta}
    return [
        {**made, "kind": "ClusterRole", "rules": list(rules)},
        {**made, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects},
    ]


def may(kube: Kube, account: str, space: str, request: Mapping[str, str]) -> bool:
    """Return whether RBAC allows a ServiceAccount a request: the ``resourceAttributes`` of a SubjectAccessReview."""
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{space}", "system:authenticated"]
    spec = {"user": f"system:serviceaccount:{space}:{account}", "groups": groups, "resourceAttributes": dict(request)}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(kube.request("POST", path, body=review)["status"]["allowed"])


def token_of(kube: Kube, name: str, space: str) -> str:
    """Return a token of a ServiceAccount."""
    path = f"{kube.path('v1', 'ServiceAccount', space, name)}/token"
    made = kube.request("POST", path, body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})
    return str(made["status"]["token"])
