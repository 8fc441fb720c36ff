"""Cordoning a node so that it is known who did it, and undoing that: both in one write of one object.

The annotation is written and removed together with ``spec.unschedulable``, so a run that is killed leaves either
nothing or a node that the next run recognises.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from multiarch.facts.rebalance import CORDON_ANNOTATION
from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.errors import ClusterError, ConflictError
from multiarch.kubernetes.resources import RESOURCES, Kind
from multiarch.rebalance.clock import Clock
from multiarch.rebalance.snapshot import leftover_of, why_unfit

_NODES = RESOURCES[Kind.NODE]
_PATH = f"/metadata/annotations/{CORDON_ANNOTATION.replace('~', '~0').replace('/', '~1')}"
_TRIES = 20
"""Kubelets and controllers write to a Node every few seconds."""


def in_notation(time: datetime) -> str:
    """``2026-11-22T13:00:00Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def cordon(cluster: Cluster, clock: Clock, node: str, run: str) -> str:
    """Cordon a node for a run. Returns why it was not done, a clause, or an empty text. Raises ClusterError."""
    for _ in range(_TRIES):
        value = cluster.get(_NODES, None, node)
        if value is None:
            return "it was deleted"
        if (value.get("spec") or {}).get("unschedulable"):
            found = leftover_of(value)
            # An answer that was lost may have been that of the patch.
            return "" if found is not None and found.run == run else "it is cordoned"
        if why := why_unfit(value):
            return why
        metadata = value["metadata"]
        whole = [] if metadata.get("annotations") else [{"op": "add", "path": "/metadata/annotations", "value": {}}]
        operations = [
            _unchanged(value),
            *whole,
            {"op": "add", "path": _PATH, "value": f"{run} {in_notation(clock.now())}"},
            {"op": "add", "path": "/spec/unschedulable", "value": True},
        ]
        try:
            cluster.patch_node(node, operations)
        except ConflictError:
            clock.sleep(_PAUSE)
        else:
            return ""
    return "it changes too often to be cordoned"


def uncordon(cluster: Cluster, clock: Clock, node: str, run: str) -> None:
    """Uncordon a node that ``run`` has cordoned; one that is gone, or that others changed, is left as it is.

    Raises ClusterError.
    """
    for _ in range(_TRIES):
        value = cluster.get(_NODES, None, node)
        found = None if value is None else leftover_of(value)
        if value is None or found is None or found.run != run:
            return
        operations = [_unchanged(value), {"op": "remove", "path": _PATH}]
        if (value.get("spec") or {}).get("unschedulable"):
            operations.append({"op": "remove", "path": "/spec/unschedulable"})
        try:
            cluster.patch_node(node, operations)
        except ConflictError:
            clock.sleep(_PAUSE)
        else:
            return
    raise ClusterError(f"Node {node} changes too often to be uncordoned.", hint=f"Run `kubectl uncordon {node}`.")


def _unchanged(node: Mapping[str, Any]) -> dict[str, Any]:
    return {"op": "test", "path": "/metadata/resourceVersion", "value": node["metadata"]["resourceVersion"]}


_PAUSE = 0.2
