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


class Noting:
    """Passes problems on, and notes whether one of them was an error: what hangs on the value need not be checked."""

    def __init__(self, report: Report) -> None:
        """``report`` is where the problems go."""
        self._report = report
        self.faulty = False

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
        """Pass one problem on."""
        self.faulty = self.faulty or severity is Severity.ERROR
        self._report(rule, path, message, hint=hint, value=value, severity=severity)
