"""The control plane for the official Kubernetes provider: the sandbox's EKS clusters have its endpoint."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from sandbox.aws.remote import Remote
from sandbox.cluster import lifecycle
from sandbox.environment import write_token
from sandbox.layout import Layout


def lead_clusters(layout: Layout, url: str, say: Callable[[str], None]) -> None:
    """Start a control plane unless it runs; give its endpoint, authority and token to clusters created from now on.

    ``url`` is the AWS server's. Pods count as ready though nothing runs. Raises what ``lifecycle.up`` raises.
    """
    running = lifecycle.up(layout.control_plane, say, nodes=False)
    config = json.loads(Path(running.kubeconfig).read_text(encoding="utf-8"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64encode(Path(cluster["certificate-authority"]).read_bytes()).decode()
    Remote(url).lead_clusters_to(cluster["server"], authority)
    write_token(layout, user["token"])


def stop(layout: Layout) -> None:
    """Stop the control plane, if one runs, and forget its token."""
    lifecycle.down(layout.control_plane)
    layout.token.unlink(missing_ok=True)
