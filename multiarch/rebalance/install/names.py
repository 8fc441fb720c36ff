"""Names and labels of the CronJob's objects."""

from __future__ import annotations

from typing import Any

from multiarch.facts.rebalance import PLACEHOLDER_NAMESPACE

Object = dict[str, Any]
"""A Kubernetes object, or a part of one."""

NAME = "multiarch-rebalance"
NAMESPACE = PLACEHOLDER_NAMESPACE
USER = f"system:serviceaccount:{NAMESPACE}:{NAME}"
"""The service account's user name."""
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}


def metadata(name: str = NAME, namespace: str | None = NAMESPACE) -> Object:
    """Name, namespace (none with None) and labels of an object."""
    return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": LABELS}
