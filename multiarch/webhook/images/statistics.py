"""Counters of the look-ups, for metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Statistics:
    """What happened since the start. ``entries`` and ``bytes`` are what is in memory now."""

    hits: int = 0
    """Images answered from memory."""
    stale: int = 0
    """Those of them whose tag was not fresh."""
    misses: int = 0
    """Images that had to be looked up, and were not remembered as failed."""
    fetches: int = 0
    """Look-ups that queried a registry."""
    refreshes: int = 0
    """Those of them that checked a tag in the background."""
    failures: Counter[str] = field(default_factory=Counter)
    """Failed look-ups, by the value of :class:`multiarch.registry.errors.RegistryReason`."""
    under_way: int = 0
    """Look-ups that run now."""
    entries: int = 0
    bytes: int = 0
