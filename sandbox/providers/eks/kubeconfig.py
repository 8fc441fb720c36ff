"""The kubeconfig of a cluster: an exec credential plugin, no token."""

from __future__ import annotations

from typing import Any


def kubeconfig(cluster: str, endpoint: str, authority: str, region: str) -> dict[str, Any]:
    """A kubeconfig as a map; ``authority`` is PEM in base64. Credentials come from ``aws eks get-token``."""
    arguments = ["--region", region, "eks", "get-token", "--cluster-name", cluster, "--output", "json"]
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": arguments,
        "env": [{"name": "KUBERNETES_EXEC_INFO", "value": '{"apiVersion": "client.authentication.k8s.io/v1beta1"}'}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubernetes", "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
        "contexts": [{"name": "aws", "context": {"cluster": "kubernetes", "user": "aws"}}],
        "current-context": "aws",
        "users": [{"name": "aws", "user": {"exec": plugin}}],
    }
