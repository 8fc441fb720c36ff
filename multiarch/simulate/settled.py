"""Nodes with the pods on them, before and after pods got a node: what failures, costs and reports start from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from multiarch.autoscaling.model import Capacity
from multiarch.nodes.model import CapacityType, NodeGroupPlan
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.simulate.model import Simulation


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node and its pods, those of DaemonSets aside: what they request is taken from every node.

    ``group`` is a node group or NodePool of the plan, or empty for a node of neither. ``instance_type`` is empty where
    it is unknown. A node whose ``shape`` has nothing allocatable is full.
    """

    name: str
    group: str
    shape: NodeShape
    zone: str | None
    instance_type: str = ""
    capacity_type: CapacityType | None = None
    pods: tuple[Pod, ...] = ()


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Where no new node can be had: in ``zones``, of ``groups`` (node groups, NodePools), of ``capacities``."""

    zones: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    capacities: frozenset[Capacity] = frozenset()

    def open_zones(self, zones: tuple[str, ...]) -> tuple[str | None, ...]:
        """Return those of ``zones`` that are not lost; ``(None,)`` where no zones are known."""
        return tuple(zone for zone in zones or (None,) if zone not in self.zones)

    def why_no_node(self, group: NodeGroupPlan, zones: tuple[str | None, ...]) -> str | None:
        """Return why a node group gets no new node in ``zones``, or None."""
        return self.why_not(group.name, Capacity(group.architecture, group.capacity_type), zones or (None,))

    def why_not(self, group: str, capacity: Capacity, zones: tuple[str | None, ...]) -> str | None:
        """Return why a group gets no new node of ``capacity`` in ``zones``, or None."""
        what = ""
        if group in self.groups:
            what = group
        elif capacity in self.capacities:
            what = f"{capacity.architecture} {capacity.capacity_type} capacity"
        elif self.zones.issuperset(zones):
            what = ", ".join(f"zone {zone}" for zone in zones)
        return f"no new nodes: {what} is unavailable" if what else None


@dataclass(frozen=True)
class Settled:
    """The nodes after pods were placed: the given ones, in their order, then new ones. ``unplaced`` have no node."""

    nodes: tuple[NodeState, ...]
    unplaced: tuple[Pod, ...]
    explain: Callable[[], Simulation] = field(repr=False, compare=False)

    @cached_property
    def simulation(self) -> Simulation:
        """What led there, for every workload and group. Computed when it is first requested."""
        return self.explain()
