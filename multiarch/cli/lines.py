"""Text for a person: broken between words, and with commands that run as they are printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:  # every command starts here, and few have prices
    from multiarch.prices.model import Amount

_NAME = "multiarch"
_USUAL = 80
_NOUNS = (
    "audit|capacity|cost|doctor|facts|image|post|prices|rebalance|report|review|simulate|stack|verify|webhook|workload"
)
_COMMAND = re.compile(rf"(?<![\w./-]){_NAME}(?= (?:{_NOUNS})\b)")
_WORD = re.compile(r"[^\s`]*`[^`]+`\S*|\S+")


def make_runnable(text: str, program: Path | None = None) -> str:
    """Write ``multiarch …`` in a string as a shell finds it: by its path, unless ``multiarch`` on PATH is this one.

    ``program`` is by default what this process was called by.
    """
    return _COMMAND.sub(lambda _: find_own_name(program), text)


def find_own_name(program: Path | None = None) -> str:
    """Return how a shell here finds ``program``, as of :func:`make_runnable`."""
    program = program or Path(sys.argv[0])
    if program.name != _NAME or not program.is_file():
        return _NAME
    on_path = shutil.which(_NAME)
    return _NAME if on_path and program.samefile(on_path) else shlex.quote(os.fspath(program))


def count_columns(stream: TextIO, in_pipe: int = _USUAL) -> int:
    """Return the characters of a line: ``COLUMNS``, or those of the terminal that the stream is, or ``in_pipe``."""
    set_by_user = os.environ.get("COLUMNS", "")
    if set_by_user.isdecimal() and int(set_by_user):
        return int(set_by_user)
    with suppress(OSError):
        return os.get_terminal_size(stream.fileno()).columns or _USUAL
    return _USUAL if stream.isatty() else in_pipe


def wrap_lines(text: str, room: int, *, first: str = "", others: str = "") -> Iterator[str]:
    """Break a string between words into lines of at most ``room`` characters, indented by ``first`` and ``others``.

    Commands in backticks are not broken, so that they can be copied, unless they are longer than a line. A word that is
    longer than a line is not broken either: the terminal breaks its line.
    """
    from rich.cells import cell_len  # noqa: PLC0415 (most commands break no line)

    line, used = first, False
    for word in _words(text, room - max(len(first), len(others))):
        if used and cell_len(line) + 1 + cell_len(word) > room:
            yield line
            line, used = others, False
        line, used = f"{line}{' ' * used}{word}", True
    if used:
        yield line


def _words(text: str, longest: int) -> Iterator[str]:
    for word in _WORD.findall(text):
        yield from [word] if len(word) <= longest else word.split()


def format_amount(amount: Amount) -> str:
    """Return ``1,234.50`` or ``unknown``."""
    return f"{amount:,.2f}" if isinstance(amount, Decimal) else "unknown"
