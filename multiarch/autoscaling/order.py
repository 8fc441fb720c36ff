"""In which order capacity is wanted: architecture and capacity type together, most wanted first."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.autoscaling.model import Capacity
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType


def preferring(architecture: Architecture) -> tuple[Capacity, ...]:
    """All kinds, the preferred architecture's first; of each architecture spot before on-demand."""
    other = next(each for each in Architecture if each is not architecture)
    return tuple(
        Capacity(each, capacity_type)
        for each in (architecture, other)
        for capacity_type in (CapacityType.SPOT, CapacityType.ON_DEMAND)
    )


DEFAULT_ORDER = preferring(Architecture.ARM64)
"""arm64-spot, arm64-on-demand, amd64-spot, amd64-on-demand."""


def parse_capacity(text: str) -> Capacity:
    """Read ``arm64-spot``. Raises ValueError for what is no kind."""
    architecture, _, capacity_type = text.partition("-")
    return Capacity(Architecture(architecture), CapacityType(capacity_type))


def rank(capacity: Capacity, order: Sequence[Capacity]) -> int:
    """The place of a kind, 0 for the most wanted.

    Kinds that ``order`` leaves out share the place behind its last: they are still used, when nothing else is left.
    """
    return order.index(capacity) if capacity in order else len(order)
