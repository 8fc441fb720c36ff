"""What planning finds wrong with a stack, each problem once and with its place."""

from __future__ import annotations

from multiarch.errors import KeyPath, Problem
from multiarch.nodes.report import ProblemReport
from multiarch.stack.origin import Origin


class CollectedProblems(ProblemReport):
    """Collects problems with their places. One per planning."""

    def __init__(self, origin: Origin) -> None:
        """``origin`` knows where each value was written."""
        self._origin = origin
        self._problems: list[Problem] = []

    def take(self, path: KeyPath, problem: Problem) -> None:
        """Record one problem."""
        self._problems.append(self._origin.placed(path, problem))

    def sorted(self) -> tuple[Problem, ...]:
        """Return the problems in the order of the file, those without a place last, each once.

        Both halves of a multi-architecture group find the same fault in what they share.
        """
        once = {(p.rule, p.key, p.message): p for p in reversed(self._problems)}
        in_order = [p for p in self._problems if once.get((p.rule, p.key, p.message)) is p]
        return tuple(sorted(in_order, key=lambda p: (p.line is None, p.file or "", p.line or 0)))
