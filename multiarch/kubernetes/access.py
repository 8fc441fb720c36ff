"""Which cluster to read: options only, so that a command can hold them without loading the client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Which cluster, as kubectl's options name it; without either, the one that kubectl would use."""

    kubeconfig: Path | None = None
    context: str | None = None
