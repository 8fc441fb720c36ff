"""Objects of a live cluster that decide where pods run, and the group of a node. No client is loaded here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from multiarch.facts.labels import EKS_NODE_GROUP, KARPENTER_NODE_POOL
from multiarch.kubernetes.source import LoadedObject
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan


@dataclass(frozen=True, slots=True)
class Running:
    """Objects of the cluster of context ``name``. ``pods`` have not ended; some may have no node."""

    name: str
    nodes: tuple[LoadedObject, ...]
    pods: tuple[LoadedObject, ...]
    daemon_sets: tuple[LoadedObject, ...]
    budgets: tuple[LoadedObject, ...] = ()


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
