"""libyaml's events of a text, and what is wrong with a text that has none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from yaml.error import MarkedYAMLError, YAMLError

from multiarch.errors import KeyPath, MultiarchError

try:
    from yaml.cyaml import CParser
except ImportError as _error:  # a PyYAML that was built without it
    raise MultiarchError("PyYAML has no libyaml here.", hint="Install PyYAML from a wheel.") from _error

Parser = Any
"""PyYAML has no types: what gives the next event by ``get_event()``."""
Event = Any
"""As above; its marks count characters, lines and columns from 0."""


@dataclass(frozen=True, slots=True)
class YamlFault:
    """Something wrong with a text; ``rule`` is a name in ``multiarch.rules``, ``line`` counts from 1 if it is known.

    ``message`` is a clause that begins in lower case and has no full stop. ``path`` leads to the value, if it has one.
    """

    rule: str
    message: str
    line: int | None
    hint: str = ""
    path: KeyPath = ()

    @property
    def sentence(self) -> str:
        """The message as a sentence of its own."""
        return f"{self.message[0].upper()}{self.message[1:]}."


class YamlError(MultiarchError):
    """A text that is refused for one fault."""

    def __init__(self, fault: YamlFault) -> None:
        """Say the fault with its line."""
        line = f"line {fault.line}: " if fault.line else ""
        super().__init__(f"{line}{fault.message}.", hint=fault.hint)
        self.fault = fault


@contextlib.contextmanager
def parsing(text: str) -> Iterator[Parser]:
    """Give a parser of ``text``; what it says is wrong with the text becomes a YamlError.

    A line end of Windows counts as two characters.
    """
    try:
        yield CParser(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(_syntax(str(error.problem or error.context), mark.line if mark else None, text)) from error
    except YAMLError as error:
        position = getattr(error, "position", None)
        line = None if position is None else text.count("\n", 0, position)
        raise YamlError(_syntax(str(getattr(error, "reason", error)), line, text)) from error


def _syntax(problem: str, index: int | None, text: str) -> YamlFault:
    """What to say of the line with an index, from 0."""
    if index is None:
        return YamlFault("not-yaml", f"not valid YAML: {problem}", None)
    lines = text.removesuffix("\n").split("\n")
    # At its end libyaml counts a line that is not there.
    index = min(index, len(lines) - 1)
    written = lines[index]
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return YamlFault("not-yaml", "not valid YAML: indented with a tab", index + 1, "Indent with spaces.")
    return YamlFault("not-yaml", f"not valid YAML: {problem}", index + 1)
