"""Where each value of a stack was written, so that a fault found late still names file and line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from multiarch.errors import KeyPath, Problem
from multiarch.nodes.report import ProblemReport

_STACK_FILE = re.compile(r"(?:^|/)Pulumi\.([^/]+)\.yaml$")


@dataclass(frozen=True, slots=True)
class Place:
    """A file as the user would type it, and a 1-based line."""

    file: str
    line: int


def dotted(path: KeyPath) -> str:
    """``nodeGroups.api.instanceTypes``: list indices stand in brackets, as in ``instanceTypes[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Origin:
    """Places by path, and the file that speaks for values that were omitted."""

    file: str | None = None
    places: Mapping[KeyPath, Place] = field(default_factory=dict)

    def place(self, path: KeyPath) -> Place | None:
        """The place of ``path``, or of the nearest thing around it that was written."""
        for length in range(len(path), 0, -1):
            if found := self.places.get(path[:length]):
                return found
        return None

    def placed(self, path: KeyPath, problem: Problem) -> Problem:
        """Return the problem with the file, line and key of ``path``; its hint names the stack where it says STACK."""
        place = self.place(path)
        file, line = (place.file, place.line) if place else (self.file, None)
        found = _STACK_FILE.search(self.file or "")
        hint = problem.hint.replace(" STACK`", f" {found[1]}`") if found else problem.hint
        return replace(problem, file=file, line=line, key=dotted(path), hint=hint)

    def problem(self, rule: str, path: KeyPath, message: str, *, hint: str = "", value: object = None) -> Problem:
        """Make an error at ``path``. ``value`` is what was written there."""
        return self.placed(path, Problem(rule=rule, message=message, hint=hint, value=value))


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
