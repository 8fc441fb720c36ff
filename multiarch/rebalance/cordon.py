"""Cordoning a node so that it is known who did it, and undoing that: both in one write of one object.

The annotation is written and removed together with ``spec.unschedulable``, so a run that is killed leaves either
nothing or a node that the next run recognises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from multiarch.facts.rebalance import CORDON_ANNOTATION
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ClusterError, ConflictError
from multiarch.kubernetes.resources import NODES
from multiarch.rebalance.clock import Clock
from multiarch.rebalance.snapshot import explain_unfit, read_leftover

_Patch = list[dict[str, Any]]
_PATH = f"/metadata/annotations/{CORDON_ANNOTATION.replace('~', '~0').replace('/', '~1')}"
_PAUSE = 0.2
_TRIES = 20
"""Kubelets and controllers write to a Node every few seconds."""


def format_time(time: datetime) -> str:
    """Return ``2026-11-22T13:00:00Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def cordon_node(cluster: KubernetesCluster, clock: Clock, node: str, run: str) -> str:
    """Cordon a node for a run. Returns why it was not done, a clause, or an empty string. Raises ClusterError."""

    def changes(value: Mapping[str, Any] | None) -> _Patch | str:
        if value is None:
            return "it was deleted"
        if (value.get("spec") or {}).get("unschedulable"):
            found = read_leftover(value)
            # An answer that was lost may have been that of the patch.
            return "" if found is not None and found.run == run else "it is cordoned"
        if why := explain_unfit(value):
            return why
        whole = {"op": "add", "path": "/metadata/annotations", "value": {}}
        return [
            *([] if value["metadata"].get("annotations") else [whole]),
            {"op": "add", "path": _PATH, "value": f"{run} {format_time(clock.now())}"},
            {"op": "add", "path": "/spec/unschedulable", "value": True},
        ]

    why = _patch(cluster, clock, node, changes)
    return "it changes too often to be cordoned" if why is None else why


def uncordon_node(cluster: KubernetesCluster, clock: Clock, node: str, run: str) -> None:
    """Uncordon a node that ``run`` has cordoned; one that is gone, or that others changed, is left as it is.

    Raises ClusterError.
    """

    def changes(value: Mapping[str, Any] | None) -> _Patch | str:
        found = None if value is None else read_leftover(value)
        if value is None or found is None or found.run != run:
            return ""
        closed = (value.get("spec") or {}).get("unschedulable")
        opened = [{"op": "remove", "path": "/spec/unschedulable"}] if closed else []
        return [{"op": "remove", "path": _PATH}, *opened]

    if _patch(cluster, clock, node, changes) is None:
        raise ClusterError(f"Node {node} changes too often to be uncordoned.", hint=f"Run `kubectl uncordon {node}`.")


def _patch(
    cluster: KubernetesCluster, clock: Clock, node: str, changes: Callable[[Mapping[str, Any] | None], _Patch | str]
) -> str | None:
    """Write ``changes`` of a node as it is; return what they say instead, or None for one that changes too often."""
    for _ in range(_TRIES):
        value = cluster.get(NODES, None, node)
        found = changes(value)
        if value is None or isinstance(found, str):
            return str(found)
        version = value["metadata"]["resourceVersion"]
        try:
            unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
            cluster.patch(NODES, None, node, [unchanged, *found])
        except ConflictError:
            clock.sleep(_PAUSE)
        else:
            return ""
    return None
