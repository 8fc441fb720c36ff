"""How results and problems look: tables or JSON to stdout, everything else to stderr.

JSON has one shape for all commands: ``{"version": "1", "kind": KIND, …}``. ``version`` changes when a key is removed or
means something else, not when one is added. docs/reference/json-output.md describes the kinds.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.rules import Severity

JSON_VERSION = "1"
_PIPE_WIDTH = 240
_FRAME, _HEIGHT = 3, 25
_LEGIBLE = 12
"""Characters below which a column is made narrower only if nothing else helps."""
_MAY_STAY = "\n\t"
_DIGEST = re.compile(r"sha(256|384|512):[0-9a-f]+")
_STYLES = (
    ("green", re.compile(r"supported|runs|ready|already there(, [a-z0-9 ]+)?")),
    ("red", re.compile(r"unsupported|FAILS|blocked( by [a-z ]+)?")),
    ("yellow", re.compile(r"unknown|does not run")),
)
"""Colours of the words that are verdicts, in every table."""
_COLORS = {Severity.ERROR: 31, Severity.WARNING: 33}


class Output(StrEnum):
    """The shapes a result can have."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How the result looks on stdout.")]


def say(text: str) -> None:
    """Tell the person in front of it; stdout is for data."""
    typer.echo(shown(text), err=True)


def shown(text: str) -> str:
    """A text for a terminal: what steers one is escaped, whoever wrote it. Line breaks stay."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in _MAY_STAY else each.encode("unicode_escape").decode() for each in text
    )


def show_error(error: MultiarchError) -> None:
    """Show an error on stderr: each of its problems on one line, or its message and hint."""
    if isinstance(error, StackError):
        show_problems(error.problems)
    else:
        _say_marked(Severity.ERROR, str(error))


def show_problems(problems: Iterable[Problem]) -> None:
    """Show problems on stderr, one per line: severity, place, key, message, hint, and the rule's name."""
    for problem in problems:
        _say_marked(problem.severity, f"{problem} [{problem.rule}]")


def print_json(kind: str, content: Mapping[str, object]) -> None:
    """Print one JSON document."""
    document = {"version": JSON_VERSION, "kind": kind, **content}
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; in a pipe without colours and wide enough that no line breaks early.

    On a terminal verdicts have a colour (unless ``NO_COLOR`` is set), and digests stay whole, to be copied: where they
    do not fit, the terminal breaks their lines.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[shown(cell) for cell in row] for row in rows]
    room = Console().width if sys.stdout.isatty() else _PIPE_WIDTH
    widths = _widths(columns, cells, room - _FRAME * len(columns) + 1)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, width in zip(columns, widths, strict=True):
        table.add_column(name, overflow="fold", width=width)
    for row in cells:
        table.add_row(*(Text(cell, _style(cell)) for cell in row))
    # With a height too, the width counts on every kind of terminal.
    console = Console(highlight=False, width=max(room, sum(widths) + _FRAME * len(widths)), height=_HEIGHT)
    with console.capture() as captured:
        console.print(table)
    # Rich fills lines up with blanks, and frames the table with empty lines.
    for line in captured.get().splitlines():
        if line.strip():
            typer.echo(line.rstrip())


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Share ``room`` out so that names, which are to be copied, stay whole: the longest words break first, if any.

    Where digests and verdicts alone are too wide the others stay legible, the first column above all: it says what
    the row is about.
    """
    from rich.cells import cell_len

    cells = [[row[at] for row in (columns, *rows)] for at in range(len(columns))]
    whole = [max((cell_len(cell) for cell in column if _is_whole(cell)), default=1) for column in cells]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in cells]
    most = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in cells]
    legible = [max(_LEGIBLE, room // 3), *[_LEGIBLE] * len(columns)]
    least = [max(at_least, min(word, enough)) for at_least, word, enough in zip(whole, words, legible, strict=False)]
    widths = [max(pair) for pair in zip(whole, words, strict=True)]
    _narrow(widths, least, room)
    if all(width == 1 for width in whole):  # nothing that has to stay whole: everything can be made to fit
        _narrow(widths, whole, room)
    while sum(widths) < min(room, sum(most)):
        _, narrowest = min((width, at) for at, width in enumerate(widths) if width < most[at])
        widths[narrowest] += 1
    return widths


def _narrow(widths: list[int], least: Sequence[int], room: int) -> None:
    """Take from the widest column that has more than its least, until all have room or none has."""
    while sum(widths) > room and (wide := [at for at, width in enumerate(widths) if width > least[at]]):
        widths[max(wide, key=lambda at: widths[at])] -= 1


def as_json(problem: Problem) -> dict[str, Any]:
    """A problem's fields; ``value`` is what was written, where that is JSON."""
    return asdict(problem)


def counted(number: int, noun: str) -> str:
    """``1 warning``, ``2 warnings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _style(cell: str) -> str:
    return next((style for style, words in _STYLES if words.fullmatch(cell)), "")


def _is_whole(cell: str) -> bool:
    """Whether a cell is nothing when it is broken: a digest, a verdict."""
    return bool(_DIGEST.fullmatch(cell) or _style(cell))


def _say_marked(severity: Severity, text: str) -> None:
    plain = not sys.stderr.isatty() or "NO_COLOR" in os.environ
    mark = str(severity) if plain else f"\x1b[{_COLORS[severity]}m{severity}\x1b[0m"
    typer.echo(f"{mark}: {shown(text)}", err=True)
