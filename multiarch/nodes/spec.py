"""What a node group's plan is derived from: the settings of the group, and what it inherits from the stack."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.errors import KeyPath
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.manifests.values import Labels
from multiarch.nodes.model import CapacityType, NodeGroupKind


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """What a node group inherits from its stack.

    ``zones`` are the network's zone names, empty where only their number is known.
    """

    name: str
    version: str
    ami_family: AmiFamily
    arm64_taint: Taint | None
    prefix_delegation: bool
    zones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeGroupSpec:
    """One node group of one architecture, or one half of a multi-architecture group.

    ``path``, ``types_path`` and ``ami_path`` are the places of the group, its instance types and its image in the
    stack; those of a half differ. ``half`` is the half's architecture, None for an ordinary group. ``desired`` None
    means min; ``mode`` None means derived.
    """

    path: tuple[str, ...]
    types_path: KeyPath
    ami_path: KeyPath
    name: str
    half: Architecture | None
    kind: NodeGroupKind
    capacity_type: CapacityType
    instance_types: tuple[str, ...]
    minimum: int
    desired: int | None
    maximum: int
    ami_family: AmiFamily | None
    ami_type: str | None
    ami_id: str | None
    ami_release: str | None
    disk_size: int
    labels: Labels
    taints: tuple[str, ...]
    arm64_taint: bool
    mode: str | None
    pre_bootstrap: str
    kubelet_extra_args: tuple[str, ...]
    max_pods: int | None
    imds_hop_limit: int
    max_unavailable: int | None
    max_unavailable_percentage: int | None
    force: bool
    zones: tuple[str, ...] | None
