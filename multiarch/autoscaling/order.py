"""The order in which autoscalers prefer capacities, each an architecture with a capacity type."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.autoscaling.model import Capacity
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType


def preferring(architecture: Architecture) -> tuple[Capacity, ...]:
    """All capacities: the preferred architecture first, and for each architecture spot before on-demand."""
    other = next(each for each in Architecture if each is not architecture)
    return tuple(
        Capacity(each, capacity_type)
        for each in (architecture, other)
        for capacity_type in (CapacityType.SPOT, CapacityType.ON_DEMAND)
    )


def parse_capacity(text: str) -> Capacity:
    """Read ``arm64-spot``. Raises ValueError for any other text."""
    architecture, _, capacity_type = text.partition("-")
    return Capacity(Architecture(architecture), CapacityType(capacity_type))


def rank(capacity: Capacity, order: Sequence[Capacity]) -> int:
    """The position of a capacity in the order, from 0.

    Capacities that ``order`` leaves out share the position after its last: they are used when nothing else is left.
    """
    return order.index(capacity) if capacity in order else len(order)
