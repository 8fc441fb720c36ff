"""Kubeconfigs of tests, and clusters that they lead to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.source import ClusterAccess


def write(file: Path, server: str, user: dict[str, Any] | None = None, *, name: str = "here", **cluster: Any) -> Path:
    """Write a kubeconfig with one context of this name, its current one."""
    parts = {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}}],
        "clusters": [{"name": name, "cluster": {"server": server, **cluster}}],
        "users": [{"name": "me", "user": user or {}}],
    }
    file.write_text(json.dumps(parts), encoding="utf-8")
    return file


def opened(folder: Path, server: str, user: dict[str, Any] | None = None, **cluster: Any) -> KubernetesCluster:
    """Open the cluster of such a kubeconfig, which tries again at once where a server is busy."""
    return KubernetesCluster(ClusterAccess(write(folder / "config", server, user, **cluster)), first_wait=0.001)
