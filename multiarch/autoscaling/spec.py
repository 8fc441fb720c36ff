"""What an autoscaling plan is derived from: the settings under ``autoscaling``."""

from __future__ import annotations

from multiarch.errors import KeyPath
from multiarch.facts.architectures import Architecture
from multiarch.frozen import dataclass
from multiarch.manifests.values import Labels
from multiarch.nodes.model import CapacityType
from multiarch.schema.autoscaling import AutoMode, AutoModeNodePool, Karpenter, NodePool

ROOT: KeyPath = ("autoscaling",)
DEFAULT_POOL = "general"


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """One pool under ``nodePools``, by its name. ``beside_others``: the cluster may have NodePools of others."""

    name: str
    settings: NodePool
    auto_mode: bool = False
    beside_others: bool = False

    @property
    def path(self) -> KeyPath:
        """Its place in the stack."""
        return (*ROOT, "autoMode" if self.auto_mode else "karpenter", "nodePools", self.name)

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """The architectures that it allows, each once.

        Beside NodePools of others arm64 alone, unless the file says otherwise: a weight of ours would also move pods
        that can run on amd64 only.
        """
        if self.beside_others and not self.settings.multi_architecture and "architectures" not in self.settings.written:
            return (Architecture.ARM64,)
        return tuple(dict.fromkeys(map(Architecture, self.settings.architectures)))

    @property
    def capacity_types(self) -> tuple[CapacityType, ...]:
        """The capacity types that it allows, each once."""
        return tuple(dict.fromkeys(map(CapacityType, self.settings.capacity_types)))

    @property
    def labels(self) -> Labels:
        """The node labels, sorted."""
        return tuple(sorted(self.settings.labels.items()))


def list_pool_specs(owner: Karpenter | AutoMode, *, existing: bool) -> tuple[PoolSpec, ...]:
    """Return the pools by name; without any there is one, with all defaults. ``existing``: so is the cluster."""
    auto_mode = isinstance(owner, AutoMode)
    default = AutoModeNodePool.model_construct() if auto_mode else NodePool.model_construct()
    beside_others = existing and (isinstance(owner, AutoMode) or owner.installed)
    pools = sorted((owner.node_pools or {DEFAULT_POOL: default}).items())
    return tuple(PoolSpec(*pool, auto_mode, beside_others) for pool in pools)
