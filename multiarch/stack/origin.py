"""Where each value of a stack was written, so that a fault found late still names file and line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from multiarch.errors import KeyPath, Problem

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
    """Places by path, and the file that speaks for values that were left out."""

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
