"""The images that a cluster's registry has: those of the demo with a program that runs, and some for tries."""

from __future__ import annotations

from typing import Final

from sandbox.registry import images
from sandbox.registry.images import HOST, Repository
from tools import build

PAUSE: Final = f"{HOST}/sandbox/pause:1"
"""The image of pod sandboxes, for both architectures."""
BOTH: Final = f"{HOST}/payments/api:2.4.0"
ONLY_AMD64: Final = f"{HOST}/payments/ledger:1.19.3"
BROKEN: Final = f"{HOST}/payments/reports:1.2"
"""An index for both, whose image for arm64 has a program that no arm64 processor runs."""


def repositories() -> dict[str, Repository]:
    """Return all repositories, by name. Raises BuildError if their program could not be built."""
    programs = {name: build.ensure(f"machine-{name}").read_bytes() for name in ("amd64", "arm64", "s390x")}
    made = images.repositories(programs.__getitem__)
    for name in ("sandbox/pause", "payments/batch", "payments/reports"):
        made[name] = Repository(program=programs.__getitem__, name=name)
    made["sandbox/pause"].index("1", {"amd64": "amd64", "arm64": "arm64"})
    made["payments/reports"].index("1.2", {"amd64": "amd64", "arm64": "s390x"})
    made["payments/batch"].single("0.9", "s390x")
    return made
