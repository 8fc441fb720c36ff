"""What runs in a live cluster: its nodes, its pods, its DaemonSets and PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from multiarch.facts.labels import EKS_NODE_GROUP, KARPENTER_NODE_POOL
from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.resources import Kind
from multiarch.kubernetes.source import LoadedObject
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan

_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class Running:
    """Objects of the cluster of context ``name``. ``pods`` have not ended; some may have no node."""

    name: str
    nodes: tuple[LoadedObject, ...]
    pods: tuple[LoadedObject, ...]
    daemon_sets: tuple[LoadedObject, ...]
    budgets: tuple[LoadedObject, ...] = ()


def read_running(cluster: Cluster, *, budgets: bool = False) -> Running:
    """Read the whole cluster, page by page; ``budgets``: its PodDisruptionBudgets too.

    It takes the right to list Nodes, Pods and DaemonSets, and PodDisruptionBudgets, in the whole cluster. Raises
    ClusterError.
    """
    return Running(
        name=cluster.name,
        pods=tuple(cluster.objects([Kind.POD], fields=_NOT_ENDED)),
        nodes=tuple(cluster.objects([Kind.NODE])),
        daemon_sets=tuple(cluster.objects([Kind.DAEMON_SET])),
        budgets=tuple(cluster.objects([Kind.POD_DISRUPTION_BUDGET])) if budgets else (),
    )


def group_of(labels: Mapping[str, str], groups: Iterable[NodeGroupPlan], pools: Collection[str]) -> str:
    """The managed node group or NodePool that made a node with these labels; empty for a node of neither.

    A managed group's nodes carry its name with the suffix that was added to it, a NodePool's carry the pool's.
    Nodes of self-managed groups have no such label.
    """
    if (pool := labels.get(KARPENTER_NODE_POOL, "")) in pools:
        return pool
    made = labels.get(EKS_NODE_GROUP, "")
    managed = (each for each in groups if each.kind is NodeGroupKind.MANAGED)
    return next((each.name for each in managed if each.made_name.fullmatch(made)), "")
