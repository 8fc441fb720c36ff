"""The end of pods on real nodes."""

from __future__ import annotations

from typing import Final

from sandbox.cluster.kube import Kube
from sandbox.cluster.programs import wait_for

_WORKLOADS: Final = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
)


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
