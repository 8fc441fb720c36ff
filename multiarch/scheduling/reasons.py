"""Why a pod cannot be placed: a cause, and a message for users."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What excludes a node, after the scheduler's filters."""

    OPERATING_SYSTEM = "operating-system"
    TAINT = "taint"
    NODE_SELECTOR = "node-selector"
    NODE_AFFINITY = "node-affinity"
    POD_COUNT = "pod-count"
    RESOURCES = "resources"
    TOPOLOGY_SPREAD = "topology-spread"
    POD_AFFINITY = "pod-affinity"
    POD_ANTI_AFFINITY = "pod-anti-affinity"


@dataclass(frozen=True, slots=True)
class PlacementReason:
    """One reason. ``text`` is a clause without a full stop."""

    cause: Cause
    text: str

    def __str__(self) -> str:
        """The text."""
        return self.text
