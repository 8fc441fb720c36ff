"""Certificates for servers and clients of tests, created each time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox import certificates


@dataclass(frozen=True)
class Authority:
    """A certificate authority: its certificate's file in PEM, and what it needs to sign others."""

    certificate: Path
    pair: certificates.Pair

    def issue(self, name: str, folder: Path) -> tuple[Path, Path]:
        """A certificate and key in PEM for ``name`` and 127.0.0.1, signed by this authority."""
        return certificates.issue(self.pair, [name, "127.0.0.1"]).write(folder, name)


def authority(folder: Path, name: str = "authority") -> Authority:
    """Make a certificate authority."""
    made = certificates.authority(name)
    return Authority(made.write(folder, name)[0], made)
