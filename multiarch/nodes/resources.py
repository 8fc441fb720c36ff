"""What an empty node of a node group gives to pods."""

from __future__ import annotations

from multiarch.facts.ami_families import get_family
from multiarch.facts.node_resources import get_allocatable
from multiarch.nodes.model import NodeGroupPlan


def get_node_resources(group: NodeGroupPlan) -> dict[str, int]:
    """Return what a node of the group gives at least, whatever its instance type: the least of each resource.

    Units and names are those of :func:`~multiarch.facts.node_resources.get_allocatable`.
    """
    reserve = group.max_pods if get_family(group.family).reserves_by_max_pods else None
    nodes = [
        get_allocatable(
            instance,
            pods=group.max_pods,
            disk_gib=group.disk_size,
            instance_store=group.instance_store,
            reserve_for=reserve,
            reservations=group.kubelet.reservations,
            efa=group.efa,
        )
        for instance in group.instance_types
    ]
    return {name: min(node.get(name, 0) for node in nodes) for name in nodes[0]}
