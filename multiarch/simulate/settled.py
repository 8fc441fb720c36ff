"""Nodes with the pods on them, before and after pods got a node: what failures, costs and reports start from."""

from __future__ import annotations

from dataclasses import dataclass, field

from multiarch.autoscaling.model import Capacity
from multiarch.nodes.model import CapacityType
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.simulate.model import Simulation


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node and its pods, those of DaemonSets aside: what they request is taken from every node.

    ``group`` is a node group or NodePool of the plan, or empty for a node of neither. ``instance_type`` is empty where
    it is unknown.
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


@dataclass(frozen=True, slots=True)
class Settled:
    """The nodes after pods were placed, new nodes included, pods without a node, and the simulation that led there."""

    nodes: tuple[NodeState, ...]
    unplaced: tuple[Pod, ...]
    simulation: Simulation = field(repr=False)
