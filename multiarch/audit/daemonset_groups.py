"""Groups of nodes: those of a live cluster, by the labels that say what made them, or those that a plan would have.

Of nodes only those labels are kept that a DaemonSet requests, so that a thousand nodes are few profiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from multiarch.audit.daemonset_model import NODE_NAME, NodeSet, Profile
from multiarch.autoscaling.model import NodePoolPlan
from multiarch.autoscaling.node_labels import build_node_labels
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import InstanceType
from multiarch.facts.labels import (
    EKS_NODE_GROUP,
    KARPENTER_NODE_POOL,
    REPLACED_BY,
    ZONE,
)
from multiarch.facts.taints import Taint
from multiarch.kubernetes.source import LoadedObject
from multiarch.manifests.values import Labels
from multiarch.nodes.model import NodeGroupPlan
from multiarch.observed.nodes import list_omission_notes, read_nodes
from multiarch.stack.model import Plan

_PASSING = frozenset(
    (
        "DeletionCandidateOfClusterAutoscaler",
        "ToBeDeletedByClusterAutoscaler",
        "ebs.csi.aws.com/agent-not-ready",
        "karpenter.sh/disrupted",
        "karpenter.sh/unregistered",
    )
)
_PASSING_DOMAINS = ("node.kubernetes.io", "node.cloudprovider.kubernetes.io")


class Groups(NamedTuple):
    """Groups, sorted by kind and name; ``notes`` say what was omitted."""

    groups: tuple[NodeSet, ...]
    notes: tuple[str, ...]


def list_planned_groups(plan: Plan, keys: Collection[str]) -> Groups:
    """Return the node groups and NodePools of a plan. ``keys`` are the labels that DaemonSets request.

    A pool of both architectures is two groups. A label that the kubelet, AWS, Karpenter or an agent on the node sets,
    and that the plan does not hold, is unknown; any other that it does not hold the nodes do not have.
    """
    found = [_group(plan, keys, group, group.name, group.instance_types) for group in plan.node_groups]
    notes = []
    for pool in plan.autoscaling.pools:
        # All capacities of a pool are bought alike, and its types are sold so.
        bought = {kind.architecture for kind in pool.capacities}
        types: dict[Architecture, list[InstanceType]] = {}
        for each in pool.instance_types:
            if each.architecture in bought:
                types.setdefault(each.architecture, []).append(each)
        for architecture, own in sorted(types.items()):
            name = pool.name if len(types) == 1 else f"{pool.name} ({architecture})"
            found.append(_group(plan, keys, pool, name, own))
        if not types:
            notes.append(f"NodePool {pool.name} is omitted: it matches no instance type.")
    return Groups(tuple(found), tuple(notes))


def _group(
    plan: Plan, keys: Collection[str], owner: NodeGroupPlan | NodePoolPlan, name: str, types: Sequence[InstanceType]
) -> NodeSet:
    """Return a group of nodes: one profile for all nodes with the same labels, in every zone where zones matter."""
    zones: tuple[str | None, ...] = (None,)
    if {ZONE, *(old for old, new in REPLACED_BY.items() if new == ZONE)} & set(keys):
        zones = (owner.zones if isinstance(owner, NodeGroupPlan) else ()) or plan.network.zones or (None,)
    counted: Counter[tuple[Labels, frozenset[str]]] = Counter()
    for instance in types:
        for zone in zones:
            labels = build_node_labels(owner, instance, zone=zone, region=plan.region)
            kept = {key: labels.known[key] for key in keys if key in labels.known}
            unknown = frozenset(key for key in keys if labels.is_unknown(key) or key == NODE_NAME)
            counted[_kept(kept), unknown] += 1
    taints = _lasting(owner.taints)
    profiles = tuple(
        Profile(pairs, taints, unknown, count) for (pairs, unknown), count in sorted(counted.items(), key=str)
    )
    kind = "node group" if isinstance(owner, NodeGroupPlan) else "NodePool"
    return NodeSet(name, kind, types[0].architecture, profiles, unit="instance types", planned=True)


def _kept(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def list_live_groups(nodes: Iterable[LoadedObject], keys: Collection[str]) -> Groups:
    """Return the groups of live nodes, by node group, by NodePool, or else by architecture and taints.

    Windows and Fargate nodes, and those of other architectures, are omitted, and so are taints that come
    and go during a node's life. Raises MultiarchError for a Node that Kubernetes would reject.
    """
    found, omitted = read_nodes(nodes)
    profiles: dict[tuple[str, str, Architecture], Counter[Profile]] = {}
    for node in found:
        architecture, taints = Architecture(node.architecture), _lasting(node.taints)
        have = {**node.labels, NODE_NAME: node.name}
        kind, name = _named(node.labels, architecture, taints)
        alike = profiles.setdefault((kind, name, architecture), Counter())
        alike[Profile(_kept({key: have[key] for key in keys if key in have}), taints)] += 1
    both = Counter((kind, name) for kind, name, _ in profiles)
    groups = [
        NodeSet(
            name if both[kind, name] == 1 else f"{name} ({architecture})",
            kind,
            architecture,
            tuple(Profile(each.labels, each.taints, count=count) for each, count in sorted(counts.items(), key=str)),
        )
        for (kind, name, architecture), counts in sorted(profiles.items(), key=lambda item: _rank(item[0]))
    ]
    return Groups(tuple(groups), list_omission_notes(omitted))


_KINDS = ("node group", "NodePool", "nodes")


def _rank(key: tuple[str, str, Architecture]) -> tuple[int, str, str]:
    return _KINDS.index(key[0]), key[1], str(key[2])


def _named(labels: Mapping[str, str], architecture: Architecture, taints: tuple[Taint, ...]) -> tuple[str, str]:
    if EKS_NODE_GROUP in labels:
        return "node group", labels[EKS_NODE_GROUP]
    if KARPENTER_NODE_POOL in labels:
        return "NodePool", labels[KARPENTER_NODE_POOL]
    return "nodes", " ".join([f"other {architecture}", *map(str, taints)])


def _lasting(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Return taints that say something about a group, sorted."""
    return tuple(
        sorted(
            taint
            for taint in taints
            if taint.key not in _PASSING and taint.key.rpartition("/")[0] not in _PASSING_DOMAINS
        )
    )
