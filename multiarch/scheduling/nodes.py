"""Nodes as the scheduler sees them: a group's next node, and one that has a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE, HOSTNAME, ZONE, with_deprecated
from multiarch.facts.taints import Taint
from multiarch.manifests.values import Labels
from multiarch.scheduling.resources import ResourceAmounts

_NEW_NODE = "(new node)"
"""Not a valid node name: a new node's name is unknown, so no pod can require it."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node: real, or one that a simulation has made. Its labels hold its zone and its host name."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The next node of a group, whichever autoscaler adds it: of one instance type, in one of its zones.

    ``labels`` are those of :func:`multiarch.autoscaling.node_labels.build_node_labels`; zone and host name are added.
    ``allocatable`` is what pods can have of an empty node, ``pods`` the most that it takes. ``zones`` may be empty
    when nothing is known about them. Raises ValueError where ``labels`` contradict the architecture. The hash is
    computed once: shapes are keys of caches.
    """

    name: str
    architecture: Architecture
    allocatable: ResourceAmounts
    labels: Labels = ()
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Validate, and compute the hash."""
        said = dict(self.labels).get(ARCHITECTURE)
        if said != self.architecture:
            raise ValueError(f"{self.name} is {self.architecture}, but its label {ARCHITECTURE} is {said}")
        parts = (self.name, self.architecture, self.allocatable, self.labels, self.taints, self.zones)
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        """The hash of all parts."""
        return self._hash

    def labels_in(self, zone: str | None, host: str = _NEW_NODE) -> dict[str, str]:
        """Return labels of a node in ``zone``, without a zone's label where it is ``None`` and the group has none."""
        own = {HOSTNAME: host, **dict(self.labels)}
        return own if zone is None else {**own, **with_deprecated({ZONE: zone})}

    def node(self, name: str, zone: str | None) -> Node:
        """Return a node of this shape that has a name, for :class:`multiarch.scheduling.topology.Placements`."""
        return Node(name, self.labels_in(zone, name), self.taints)
