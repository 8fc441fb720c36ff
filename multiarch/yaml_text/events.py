"""libyaml's events of a text, and what it says when there are none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from yaml.error import MarkedYAMLError, YAMLError

from multiarch.errors import MultiarchError

try:
    from yaml.cyaml import CParser
except ImportError as _error:  # a PyYAML that was built without it
    raise MultiarchError("PyYAML has no libyaml here.", hint="Install PyYAML from a wheel.") from _error

MOST_LEVELS = 200
"""How deep values may be nested: more is an attack or a mistake."""
Parser = Any
"""PyYAML has no types: what gives the next event by ``get_event()``."""


class YamlFault(Exception):  # noqa: N818 # the caller makes the error of it, with the file's name
    """What is wrong with a text, and its line, from 1, if it has one."""

    def __init__(self, fault: str, line: int | None) -> None:
        """``fault`` has no full stop at its end."""
        super().__init__(fault)
        self.fault = fault
        self.line = line


@contextlib.contextmanager
def parsing(text: str) -> Iterator[Parser]:
    """Give a parser of ``text``; what it says is wrong with the text becomes a YamlFault.

    Its marks count characters from 0, lines from 0, and a line end of Windows as two characters.
    """
    last = text.count("\n") + (not text.endswith("\n"))
    try:
        yield CParser(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # At its end libyaml counts a line that is not there.
        raise YamlFault(str(error.problem or error.context), min(mark.line + 1, last) if mark else None) from error
    except YAMLError as error:
        position = getattr(error, "position", None)
        line = None if position is None else text.count("\n", 0, position) + 1
        raise YamlFault(str(getattr(error, "reason", error)), line) from error
