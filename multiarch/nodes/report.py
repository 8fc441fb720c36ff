"""How the pure layers say that something is wrong: a callable that knows where each value was written."""

from __future__ import annotations

from abc import ABC, abstractmethod

from multiarch.errors import KeyPath, Problem
from multiarch.rules import Severity


class Report(ABC):
    """Takes problems; planning goes on, so that all are found at once."""

    def __call__(
        self,
        rule: str,
        path: KeyPath,
        message: str,
        *,
        hint: str = "",
        value: object = None,
    ) -> None:
        """Record one. ``path`` is where in the stack, ``rule`` a name of :data:`multiarch.rules.RULES`."""
        self.take(path, Problem(rule=rule, message=message, hint=hint, value=value))

    @abstractmethod
    def take(self, path: KeyPath, problem: Problem) -> None:
        """Record a problem at ``path``; file, line and key are not in it yet."""


class Noting(Report):
    """Passes problems on, and notes whether one of them was an error: what hangs on the value need not be checked."""

    def __init__(self, report: Report) -> None:
        """``report`` is where the problems go."""
        self._report = report
        self.faulty = False

    def take(self, path: KeyPath, problem: Problem) -> None:
        """Pass one problem on."""
        self.faulty = self.faulty or problem.severity is Severity.ERROR
        self._report.take(path, problem)
