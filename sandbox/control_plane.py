"""The control plane for the official Kubernetes provider: the sandbox's EKS clusters have its endpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sandbox.aws.remote import Remote
from sandbox.cluster import lifecycle
from sandbox.cluster.control_plane import read_kubeconfig
from sandbox.environment import write_token
from sandbox.layout import Layout


def lead_clusters(layout: Layout, url: str, say: Callable[[str], None]) -> None:
    """Start a control plane unless it runs; give its endpoint, authority and token to clusters created from now on.

    ``url`` is the AWS server's. Pods count as ready though nothing runs. Raises what ``lifecycle.up`` raises.
    """
    running = lifecycle.up(layout.control_plane, say, nodes=False)
    access = read_kubeconfig(Path(running.kubeconfig))
    Remote(url).lead_clusters_to(access.url, access.authority)
    write_token(layout, access.token)


def stop(layout: Layout) -> None:
    """Stop the control plane, if one runs, and forget its token."""
    lifecycle.down(layout.control_plane)
    layout.token.unlink(missing_ok=True)
