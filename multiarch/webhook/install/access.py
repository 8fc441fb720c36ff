"""Service accounts, and what they may do: the server nothing, unless it reads pull secrets or writes events."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.manifests import restricted
from multiarch.webhook.install import parts
from multiarch.webhook.install.model import Installation, Object


def service_account(installation: Installation) -> Object:
    """The server's."""
    metadata = parts.metadata(installation)
    if annotations := installation.service_account_annotations:
        metadata["annotations"] = annotations
    return restricted.service_account(metadata)


def server_roles(installation: Installation) -> Iterator[Object]:
    """Reading of the named pull secrets, and writing of events, each if it is on."""
    for namespace, names in installation.pull_secrets.items():
        metadata = parts.metadata(installation, name=f"{installation.name}-pull-secrets", namespace=namespace)
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": ["get"]}
        yield from restricted.granted(metadata, [rule], installation.name, installation.namespace)
    if installation.configuration.events:
        # Events are in the namespaces of their pods, which are all but a few.
        metadata = parts.metadata(installation, name=f"{installation.name}-events", namespace="")
        rule = {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}
        yield from restricted.granted(metadata, [rule], installation.name, installation.namespace)
