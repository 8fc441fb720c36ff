"""Pods without kubelets: what a kubelet would write about them, for those who wait for it."""

from __future__ import annotations

from typing import Final

from sandbox.cluster.kube import Kube, Object

POD_RUNS: Final[Object] = {
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
    }
}
"""What a kubelet writes about a pod once it runs and is ready."""


def mark_ready(kube: Kube) -> None:
    """Let all pending pods run, on a node or on none."""
    for pod in kube.list("v1", "Pod"):
        if pod.get("status", {}).get("phase") == "Pending":
            kube.patch({"apiVersion": "v1", "kind": "Pod", **pod}, POD_RUNS, part="status")
