"""Which cluster is meant: options alone, so that a command can hold them without loading what reads a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Which cluster, as kubectl's options name it; with neither, what kubectl would take."""

    kubeconfig: Path | None = None
    context: str | None = None
