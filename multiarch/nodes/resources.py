"""What an empty node of a node group gives to pods."""

from __future__ import annotations

from multiarch.facts.ami_families import family_facts
from multiarch.facts.node_resources import allocatable
from multiarch.nodes.model import NodeGroupPlan


def node_resources(group: NodeGroupPlan) -> dict[str, int]:
    """Return what a node of the group gives at least, whatever its instance type: the least of each resource.

    Units and names are those of :func:`~multiarch.facts.node_resources.allocatable`.
    """
    reserve = group.max_pods if family_facts(group.family).reserves_by_max_pods else None
    nodes = [
        allocatable(instance, pods=group.max_pods, disk_gib=group.disk_size, reserve_for=reserve)
        for instance in group.instance_types
    ]
    return {name: min(node.get(name, 0) for node in nodes) for name in nodes[0]}
