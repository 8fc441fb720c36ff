"""Kubeconfigs and rights for tests that read a real cluster through ``multiarch.kubernetes``."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object


def write_kubeconfig(file: Path, plane: ControlPlane, user: Mapping[str, Any]) -> Path:
    """Write a kubeconfig for the control plane."""
    data = base64.b64encode(plane.kube.access.certificate.read_bytes()).decode()
    cluster = {"server": plane.kube.access.url, "certificate-authority-data": data}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "me", "user": dict(user)}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }
    file.write_text(json.dumps(config), encoding="utf-8")
    return file


def namespace(name: str, **labels: str) -> Object:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def account_token(kube: Kube, name: str, space: str, rules: Sequence[Mapping[str, Any]]) -> str:
    """Make a ServiceAccount that may do what a Role's ``rules`` allow in its namespace; return a token of it."""
    meta = {"name": name, "namespace": space}
    rbac = "rbac.authorization.k8s.io"
    kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    kube.apply({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": list(rules)})
    kube.apply(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": space}],
        }
    )
    return token_of(kube, name, space)


def token_of(kube: Kube, name: str, space: str) -> str:
    """Return a token of a ServiceAccount."""
    path = f"{kube.path('v1', 'ServiceAccount', space, name)}/token"
    made = kube.request("POST", path, body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})
    return str(made["status"]["token"])
