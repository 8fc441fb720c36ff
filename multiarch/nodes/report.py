"""How the pure layers report problems: a callable that knows the position of each value."""

from __future__ import annotations

from collections.abc import Callable

from multiarch.errors import KeyPath, Problem


class ProblemReport:
    """Collects problems; planning continues, so that all are found at once. One per planning."""

    def __init__(self, place: Callable[[KeyPath, Problem], Problem]) -> None:
        """``place`` adds the file, line, key and value of a path to a problem."""
        self._place = place
        self._problems: list[Problem] = []

    def __call__(self, rule: str, path: KeyPath, message: str, *, hint: str = "") -> None:
        """Report a problem. ``path`` is its place in the stack, ``rule`` a name of :data:`multiarch.rules.RULES`."""
        self.take(path, Problem(rule, message, hint))

    def take(self, path: KeyPath, problem: Problem) -> None:
        """Record a problem at ``path``; file, line and key are not in it yet."""
        self._problems.append(self._place(path, problem))

    def sorted(self) -> tuple[Problem, ...]:
        """Return the problems in the order of the file, those without a place last, each once.

        Both halves of a multi-architecture group find the same fault in what they share.
        """
        once = {(p.rule, p.key, p.message): p for p in reversed(self._problems)}
        in_order = [p for p in self._problems if once.get((p.rule, p.key, p.message)) is p]
        return tuple(sorted(in_order, key=lambda p: (p.line is None, p.file or "", p.line or 0)))
