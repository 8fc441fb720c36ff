"""What a node group's plan is derived from: the settings of the group, and what it inherits from the stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from multiarch.errors import KeyPath
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.frozen import dataclass
from multiarch.manifests.values import Labels
from multiarch.nodes.model import CapacityType, Mirrors, NodeGroupKind, Tags
from multiarch.schema.nodes import Ami, MultiArchitectureGroup, NodeGroup, NodeGroupBase


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """What node groups and an autoscaler inherit from their stack.

    ``zones`` are the network's zone names, empty where only their number is known. ``region`` is None where the stack
    does not set it. ``subnet_ids`` are the private subnets of an existing network, empty for a new one. ``tags`` are
    the stack's, those that the plan adds included. ``existing``: the cluster was there before the stack.
    ``node_class`` is the name of Karpenter's EC2NodeClass. ``isolated``: the network has VPC endpoints only.
    ``custom_networking``: pods have subnets of their own. ``ipv6``: pods have IPv6 addresses, of a prefix of each node.
    """

    name: str
    version: str
    ami_family: AmiFamily
    arm64_taint: Taint | None
    prefix_delegation: bool
    custom_networking: bool = False
    ipv6: bool = False
    zones: tuple[str, ...] = ()
    region: str | None = None
    subnet_ids: tuple[str, ...] = ()
    tags: Tags = ()
    existing: bool = False
    node_class: str = "default"
    registry_mirrors: Mirrors = ()
    node_repair: bool | None = None
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class NodeGroupSpec:
    """One node group of one architecture, or one half of a multi-architecture group; of one zone with ``onePerZone``.

    ``half`` is the half's architecture, None for an ordinary group; ``zone`` the zone, None for several. ``path`` is
    the place of the group in the stack; ``settings`` are those that both halves share.
    """

    path: tuple[str, ...]
    name: str
    half: Architecture | None
    settings: NodeGroupBase
    instance_types: tuple[str, ...]
    ami: Ami
    ami_type: str | None = None
    zone: str | None = None

    @property
    def types_path(self) -> KeyPath:
        """The place of its instance types."""
        return (*self.path, "instanceTypes", *([str(self.half)] if self.half else []))

    @property
    def ami_path(self) -> KeyPath:
        """The place of its image."""
        return (*self.path, "ami", *([str(self.half)] if self.half else []))

    @property
    def kind(self) -> NodeGroupKind:
        """Who makes its nodes."""
        return NodeGroupKind(self.settings.kind)

    @property
    def capacity_type(self) -> CapacityType:
        """How its nodes are bought."""
        return CapacityType(self.settings.capacity_type)

    @property
    def ami_family(self) -> AmiFamily | None:
        """Its operating system, None for the stack's."""
        return AmiFamily(self.settings.ami_family) if self.settings.ami_family else None

    @property
    def labels(self) -> Labels:
        """The node labels, sorted."""
        return tuple(sorted(self.settings.labels.items()))


def list_node_group_specs(
    groups: Mapping[str, NodeGroup], pairs: Mapping[str, MultiArchitectureGroup], zones: Sequence[str]
) -> Iterator[NodeGroupSpec]:
    """Yield one specification for each node group, by name; a multi-architecture group gives its two halves.

    With ``onePerZone`` each gives one for each of its zones, which are ``zones``, the network's, where it names none;
    it stays one where these have no names, which :func:`multiarch.nodes.checks.check_zones` reports.
    """
    for spec in _per_architecture(groups, pairs):
        chosen = spec.settings.zones or zones
        if not spec.settings.one_per_zone or not chosen:
            yield spec
            continue
        for zone in sorted(set(chosen)):
            # The letter behind the region: eu-west-1a gives NAME-a.
            yield replace(spec, name=f"{spec.name}-{zone.rpartition('-')[2].lstrip('0123456789')}", zone=zone)


def _per_architecture(
    groups: Mapping[str, NodeGroup], pairs: Mapping[str, MultiArchitectureGroup]
) -> Iterator[NodeGroupSpec]:
    for name, group in sorted(groups.items()):
        path = ("nodeGroups", name)
        yield NodeGroupSpec(path, name, None, group, tuple(group.instance_types), group.ami, group.ami_type)
    for name, pair in sorted(pairs.items()):
        path = ("multiArchitectureGroups", name)
        for half, types, ami in (
            (Architecture.AMD64, pair.instance_types.amd64, pair.ami.amd64),
            (Architecture.ARM64, pair.instance_types.arm64, pair.ami.arm64),
        ):
            yield NodeGroupSpec(path, f"{name}-{half}", half, pair, tuple(types), ami)
