"""What an autoscaling plan is derived from: the settings under ``autoscaling``."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.errors import KeyPath
from multiarch.facts.architectures import Architecture
from multiarch.manifests.values import Labels
from multiarch.nodes.model import CapacityType
from multiarch.schema.autoscaling import Karpenter, NodePool

ROOT: KeyPath = ("autoscaling",)
DEFAULT_POOL = "general"


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """One pool under ``nodePools``, by its name."""

    name: str
    settings: NodePool

    @property
    def path(self) -> KeyPath:
        """Its place in the stack."""
        return (*ROOT, "karpenter", "nodePools", self.name)

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """The architectures that it allows, each once."""
        return tuple(dict.fromkeys(map(Architecture, self.settings.architectures)))

    @property
    def capacity_types(self) -> tuple[CapacityType, ...]:
        """The capacity types that it allows, each once."""
        return tuple(dict.fromkeys(map(CapacityType, self.settings.capacity_types)))

    @property
    def labels(self) -> Labels:
        """The node labels, sorted."""
        return tuple(sorted(self.settings.labels.items()))


def list_pool_specs(karpenter: Karpenter) -> tuple[PoolSpec, ...]:
    """Return the pools by name; without any there is one, with all defaults."""
    return tuple(PoolSpec(*pool) for pool in sorted((karpenter.node_pools or {DEFAULT_POOL: NodePool()}).items()))
