"""libyaml's events of a string, and what is wrong with a string that has none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from yaml.error import MarkedYAMLError, YAMLError

from multiarch.errors import KeyPath, MultiarchError
from multiarch.frozen import dataclass

try:
    from yaml.cyaml import CParser
except ImportError as _error:  # a PyYAML that was built without it
    raise MultiarchError("PyYAML has no libyaml here.", hint="Install PyYAML from a wheel.") from _error

_NOT_YAML = "not valid YAML"
_HINTS = {
    "\t": "Indent with spaces, not with tabs.",
    "{{": "Render the template first.",
    "{%": "Render the template first.",
}
"""What to do about a line that has one of these."""
_HINT = "Check colons, quotes, brackets and indentation, here and in the line above."
Parser = Any
"""PyYAML has no types: what gives the next event by ``get_event()``."""
Event = Any
"""As above; its marks count characters, lines and columns from 0."""


@dataclass(frozen=True, slots=True)
class YamlFault:
    """Something wrong with a string; ``rule`` is a name in ``multiarch.rules``, ``line`` counts from 1 if it is known.

    ``message`` is a clause that begins in lower case and has no full stop. ``path`` leads to the value, if it has one.
    """

    rule: str
    message: str
    line: int | None = None
    hint: str = ""
    path: KeyPath = ()

    @property
    def sentence(self) -> str:
        """The message as a sentence of its own."""
        return f"{self.message[0].upper()}{self.message[1:]}."


class YamlError(MultiarchError):
    """A string that is rejected for one fault."""

    def __init__(self, fault: YamlFault) -> None:
        """Say the fault with its line."""
        line = f"line {fault.line}: " if fault.line else ""
        super().__init__(f"{line}{fault.message}.", hint=fault.hint)
        self.fault = fault


@contextlib.contextmanager
def open_parser(text: str) -> Iterator[Parser]:
    """Give a parser of ``text``; what it says is wrong with the text becomes a YamlError.

    A line end of Windows counts as two characters.
    """
    try:
        yield CParser(text)
    except MarkedYAMLError as error:
        raise YamlError(_marked(error, text)) from error
    except YAMLError as error:
        position = getattr(error, "position", None)
        line = None if position is None else text.count("\n", 0, position) + 1
        raise YamlError(YamlFault("not-yaml", f"{_NOT_YAML}: {getattr(error, 'reason', error)}", line)) from error


def _marked(error: MarkedYAMLError, text: str) -> YamlFault:
    """Return what libyaml says, with the line of a key, quote or bracket that it could not finish."""
    begun = any(each in str(error.context) for each in ("simple key", "quoted", "flow"))
    mark = error.context_mark if begun else error.problem_mark or error.context_mark
    words = " ".join(str(each) for each in (error.problem, error.context) if each)
    if mark is None:
        return YamlFault("not-yaml", f"{_NOT_YAML}: {words}", None)
    # At the end it counts a line that is not there.
    line = min(mark.line, text.removesuffix("\n").count("\n"))
    written = text.split("\n", line + 1)[line]
    hint = next((hint for mark, hint in _HINTS.items() if mark in written), _HINT)
    return YamlFault("not-yaml", f"{_NOT_YAML}: {words}", line + 1, hint)
