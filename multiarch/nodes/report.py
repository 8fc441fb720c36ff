"""How the pure layers say that something is wrong: a callable that knows where each value was written."""

from __future__ import annotations

from typing import Protocol

from multiarch.errors import Severity

Path = tuple[str | int, ...]
"""Keys and list indices from the stack's top: ``("nodeGroups", "api", "instanceTypes", 0)``."""


class Report(Protocol):
    """Takes one problem. ``path`` is where in the stack, ``rule`` a stable kebab-case identifier."""

    def __call__(
        self,
        rule: str,
        path: Path,
        message: str,
        *,
        hint: str = "",
        value: object = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Record the problem; planning goes on, so that all are found at once."""
