"""The pods of a live cluster that wait for a node, and its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from multiarch.errors import MultiarchError
from multiarch.facts.labels import ZONE
from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.resources import Kind
from multiarch.kubernetes.running_objects import group_of
from multiarch.kubernetes.source import LoadedObject
from multiarch.nodes.model import NodeGroupPlan


@dataclass(frozen=True, slots=True)
class Pending:
    """``pods`` that kube-scheduler has found no node for, and ``gated`` pods, which have a scheduling gate.

    ``daemon_sets`` and ``nodes`` are all of the cluster's.
    """

    pods: tuple[LoadedObject, ...]
    gated: tuple[LoadedObject, ...]
    daemon_sets: tuple[LoadedObject, ...]
    nodes: tuple[LoadedObject, ...]


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """``by_group`` counts nodes of node groups and NodePools, ``others`` those of neither; ``zones`` are sorted."""

    by_group: tuple[tuple[str, int], ...]
    others: int
    zones: tuple[str, ...]


def read_pending(cluster: Cluster, *, namespaces: Sequence[str] | None = None, selector: str = "") -> Pending:
    """Read pods in ``namespaces`` (None: all) that match the label ``selector``, in phase Pending, without a node.

    Pods that are being deleted are left out. It takes the right to list pods there, and DaemonSets and Nodes in the
    whole cluster. Raises ClusterError, and MultiarchError for a namespace that is not there.
    """
    missing = cluster.missing_namespaces(namespaces or ())
    if missing:
        raise MultiarchError(f"There is no namespace {', '.join(missing)} in the cluster of context {cluster.name}.")
    waiting = "status.phase=Pending,spec.nodeName="
    listed = cluster.objects([Kind.POD], namespaces=namespaces, selector=selector, fields=waiting)
    pods = [found for found in listed if "deletionTimestamp" not in found.value["metadata"]]
    return Pending(
        pods=tuple(found for found in pods if not _gated(found)),
        gated=tuple(found for found in pods if _gated(found)),
        daemon_sets=tuple(cluster.objects([Kind.DAEMON_SET])),
        nodes=tuple(cluster.objects([Kind.NODE])),
    )


def _gated(found: LoadedObject) -> bool:
    return bool((found.value.get("spec") or {}).get("schedulingGates"))


def count_nodes(nodes: Iterable[LoadedObject], groups: Sequence[NodeGroupPlan], pools: Iterable[str]) -> NodeCounts:
    """Count nodes by what made them, as :func:`group_of` tells by their labels."""
    known = frozenset(pools)
    counts: Counter[str] = Counter()
    zones = set()
    for node in nodes:
        labels = node.value["metadata"].get("labels") or {}
        counts[group_of(labels, groups, known)] += 1
        if zone := labels.get(ZONE):
            zones.add(zone)
    others = counts.pop("", 0)
    return NodeCounts(tuple(sorted(counts.items())), others, tuple(sorted(zones)))
