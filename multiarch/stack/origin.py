"""Where each value of a stack was written, so that a fault found late still names file and line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from multiarch.errors import KeyPath, Problem
from multiarch.frozen import dataclass

_STACK_FILE = re.compile(r"(?:^|/)Pulumi\.([^/]+)\.yaml$")


@dataclass(frozen=True, slots=True)
class Place:
    """A file as the user would type it, and a 1-based line."""

    file: str
    line: int


def format_key(path: KeyPath) -> str:
    """Return ``nodeGroups.api.instanceTypes``: list indices stand in brackets, as in ``instanceTypes[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Origin:
    """Places by path, the file that speaks for values that were omitted, and ``values`` as they were written."""

    file: str | None = None
    places: Mapping[KeyPath, Place] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    def place(self, path: KeyPath) -> Place | None:
        """Return the place of ``path``, or of the nearest thing around it that was written."""
        for length in range(len(path), -1, -1):
            if found := self.places.get(path[:length]):
                return found
        return None

    def value(self, path: KeyPath) -> Any:  # noqa: ANN401  (any YAML value)
        """Return what was written at ``path``, None where nothing was."""
        found: Any = self.values
        for part in path:
            inside = part in found if isinstance(found, dict) else isinstance(found, list) and part in range(len(found))
            found = found[part] if inside else None
        return found

    def has_section(self, key: str) -> bool:
        """Return whether the stack's own file has a section: Pulumi.yaml may have it for all of an organisation."""
        place = self.place((key,))
        return place is None or place.file == self.file

    def placed(self, path: KeyPath, problem: Problem) -> Problem:
        """Return the problem with the file, line, key and value of ``path``.

        Its hint names the stack where it says STACK. The value of a mapping is not shown.
        """
        place = self.place(path)
        file, line = (place.file, place.line) if place else (self.file, None)
        found = _STACK_FILE.search(self.file or "")
        hint = problem.hint.replace(" STACK`", f" {found[1]}`") if found else problem.hint
        value = self.value(path)
        value = None if isinstance(value, dict) else value
        return replace(problem, file=file, line=line, key=format_key(path), hint=hint, value=value)

    def problem(self, rule: str, path: KeyPath, message: str, *, hint: str = "") -> Problem:
        """Make an error at ``path``."""
        return self.placed(path, Problem(rule, message, hint))
