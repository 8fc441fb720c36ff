"""Service accounts, and what they may do: the server nothing, unless it reads pull secrets or writes events."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.webhook.install import parts
from multiarch.webhook.install.model import Installation, Object

_RBAC = "rbac.authorization.k8s.io"


def service_account(installation: Installation) -> Object:
    """The server's."""
    metadata = parts.metadata(installation)
    if annotations := installation.service_account_annotations:
        metadata["annotations"] = annotations
    return account(metadata)


def account(metadata: Object) -> Object:
    """A ServiceAccount; its pods say themselves whether they get its token."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata,
        "automountServiceAccountToken": False,
    }


def server_roles(installation: Installation) -> Iterator[Object]:
    """Reading of the named pull secrets, and writing of events, each if it is on."""
    for namespace, names in installation.pull_secrets.items():
        metadata = parts.metadata(installation, name=f"{installation.name}-pull-secrets", namespace=namespace)
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": ["get"]}
        yield from granted(metadata, [rule], installation.name, installation.namespace)
    if installation.configuration.events:
        # Events are in the namespaces of their pods, which are all but a few.
        metadata = parts.metadata(installation, name=f"{installation.name}-events", namespace="")
        rule = {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}
        yield from granted(metadata, [rule], installation.name, installation.namespace)


def granted(metadata: Object, rules: list[Object], account_name: str, account_namespace: str) -> Iterator[Object]:
    """A Role with its RoleBinding; a ClusterRole where ``metadata`` has no namespace."""
    prefix = "" if "namespace" in metadata else "Cluster"
    yield {"apiVersion": f"{_RBAC}/v1", "kind": f"{prefix}Role", "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{prefix}RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": f"{prefix}Role", "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": account_name, "namespace": account_namespace}],
    }
