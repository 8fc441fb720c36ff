"""What an autoscaling plan is derived from: the settings under ``autoscaling``, and what comes from the stack."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.autoscaling.model import Autoscaler, Capacity, ScaleDown
from multiarch.errors import KeyPath
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.manifests.values import Labels
from multiarch.nodes.model import CapacityType, Tags

ROOT: KeyPath = ("autoscaling",)


@dataclass(frozen=True, slots=True)
class AutoscalingContext:
    """What an autoscaler inherits from its stack.

    ``region`` is None where the stack does not set it. ``zones`` are the network's zone names, empty where only their
    number is known. ``subnet_ids`` are the private subnets of an existing network, empty for a new one. ``tags`` are
    the stack's, those that the plan adds included.
    """

    cluster: str
    version: str
    ami_family: AmiFamily
    arm64_taint: Taint | None
    prefix_delegation: bool
    region: str | None
    zones: tuple[str, ...]
    subnet_ids: tuple[str, ...]
    tags: Tags


@dataclass(frozen=True, slots=True)
class ClusterAutoscalerSpec:
    """``priorities`` of single groups, by name."""

    priorities: tuple[tuple[str, int], ...]
    scale_down: ScaleDown
    service_monitor: bool


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """One pool under ``nodePools``. ``path`` is its place in the stack; an empty selection means any.

    ``selected_by`` are the selection keys that the team set, for checks on contradictions.
    ``quiet_hours`` is schedule and duration.
    """

    path: KeyPath
    name: str
    architectures: tuple[Architecture, ...]
    capacity_types: tuple[CapacityType, ...]
    multi_architecture: bool
    selected_by: frozenset[str]
    categories: tuple[str, ...]
    families: tuple[str, ...]
    instance_types: tuple[str, ...]
    min_generation: int
    sizes: tuple[str, ...]
    zones: tuple[str, ...]
    labels: Labels
    taints: tuple[str, ...]
    arm64_taint: bool
    weight: int | None
    replicas: int | None
    cpu_limit: int | None
    memory_limit: str | None
    budget: str
    quiet_hours: tuple[str, str] | None
    consolidation: str
    consolidate_after: str
    expire_after: str
    termination_grace_period: str | None


@dataclass(frozen=True, slots=True)
class KarpenterSpec:
    """``version`` None means the pinned chart, ``controller_group`` None the only group that can run the controller."""

    version: str | None
    controller_group: str | None
    ami_alias: str | None
    disk_size: int
    imds_hop_limit: int
    service_monitor: bool
    pools: tuple[PoolSpec, ...]


@dataclass(frozen=True, slots=True)
class AutoscalingSpec:
    """``order`` as set, or None; ``written`` are the keys that the team set under ``autoscaling``."""

    use: Autoscaler
    migrate_from: Autoscaler | None
    prefer: Architecture
    order: tuple[Capacity, ...] | None
    written: frozenset[str]
    cluster_autoscaler: ClusterAutoscalerSpec
    karpenter: KarpenterSpec
