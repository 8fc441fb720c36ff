"""How the pure layers report problems: a callable that knows the position of each value."""

from __future__ import annotations

from abc import ABC, abstractmethod

from multiarch.errors import KeyPath, Problem
from multiarch.rules import Severity


class ProblemReport(ABC):
    """Receives problems; planning continues, so that all are found at once."""

    def __call__(
        self,
        rule: str,
        path: KeyPath,
        message: str,
        *,
        hint: str = "",
        value: object = None,
    ) -> None:
        """Report a problem. ``path`` is its place in the stack, ``rule`` a name of :data:`multiarch.rules.RULES`."""
        self.take(path, Problem(rule=rule, message=message, hint=hint, value=value))

    @abstractmethod
    def take(self, path: KeyPath, problem: Problem) -> None:
        """Record a problem at ``path``; file, line and key are not in it yet."""


class TrackingReport(ProblemReport):
    """Passes problems on, and records whether one was an error, so that dependent values need no check."""

    def __init__(self, report: ProblemReport) -> None:
        """``report`` is where the problems go."""
        self._report = report
        self.has_errors = False

    def take(self, path: KeyPath, problem: Problem) -> None:
        """Pass one problem on."""
        self.has_errors = self.has_errors or problem.severity is Severity.ERROR
        self._report.take(path, problem)
