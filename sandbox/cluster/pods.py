"""Pods of a cluster on this machine: what a kubelet would write about them where none runs, and their end."""

from __future__ import annotations

from typing import Final

from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for

POD_RUNS: Final[Object] = {
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
    }
}
"""What a kubelet writes about a pod once it runs and is ready."""
_WORKLOADS: Final = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
)


def mark_ready(kube: Kube) -> None:
    """Let all pending pods run, on a node or on none."""
    for pod in kube.list("v1", "Pod"):
        if pod.get("status", {}).get("phase") == "Pending":
            kube.patch({"apiVersion": "v1", "kind": "Pod", **pod}, POD_RUNS, part="status")


def end_pods(kube: Kube, space: str) -> None:
    """Delete the workloads of a namespace, and wait until its pods have ended: kubelets give each a second.

    Raises:
        ClusterError: they had not ended after a minute, as those of a node whose kubelet is stopped.
    """
    for api, kind in _WORKLOADS:
        for item in kube.list(api, kind, space):
            # The garbage collector would give the pods their own 30 s; kubelets do not shorten what has begun.
            kube.delete({"apiVersion": api, "kind": kind, **item}, policy="Orphan")

    def is_empty() -> bool:
        left = kube.list("v1", "Pod", space)
        for item in left:
            if item["metadata"].get("deletionGracePeriodSeconds", 30) > 1:
                kube.delete({"apiVersion": "v1", "kind": "Pod", **item}, grace=1)
        return not left

    wait_for(is_empty, "the pods to end", timeout=60)
