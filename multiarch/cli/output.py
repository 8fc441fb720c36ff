"""How results and problems look: tables or JSON to stdout, everything else to stderr.

JSON has one shape for all commands: ``{"version": "1", "kind": KIND, …}``. ``version`` changes when a key is removed or
means something else, not when one is added. docs/json-output.md describes the kinds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from multiarch.errors import MultiarchError, Problem, Severity, StackError

JSON_VERSION = "1"
_PIPE_WIDTH = 240
_BETWEEN = 3
_COLORS = {Severity.ERROR: 31, Severity.WARNING: 33}


class Output(StrEnum):
    """The shapes a result can have."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How the result looks on stdout.")]


def say(text: str) -> None:
    """Tell the person in front of it; stdout is for data."""
    typer.echo(text, err=True)


def show_error(error: MultiarchError) -> None:
    """Show an error on stderr: each of its problems on one line, or its message and hint."""
    if isinstance(error, StackError):
        show_problems(error.problems)
    else:
        say(f"{_marked('error', Severity.ERROR)}: {error}")


def show_problems(problems: Iterable[Problem]) -> None:
    """Show problems on stderr, one per line: severity, place, key, message, hint, and the rule's name."""
    for problem in problems:
        say(f"{_marked(problem.severity, problem.severity)}: {problem} [{problem.rule}]")


def print_json(kind: str, content: Mapping[str, object]) -> None:
    """Print one JSON document."""
    document = {"version": JSON_VERSION, "kind": kind, **content}
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; in a pipe without borders' colours and wide enough that no line breaks early."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    cells = [columns, *rows]
    for column, width in zip(columns, _widths(cells, console.width + 1 - _BETWEEN * len(columns)), strict=True):
        table.add_column(column, overflow="fold", width=width)
    for row in cells[1:]:
        table.add_row(*(Text(cell) for cell in row))
    with console.capture() as captured:
        console.print(table)
    # Rich fills lines up with blanks, and frames the table with empty lines.
    for line in captured.get().splitlines():
        if line.strip():
            typer.echo(line.rstrip())


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Share ``room`` out so that names, which are to be copied, stay whole: the longest words break first, if any."""
    columns = list(zip(*rows, strict=True))
    widths = [max((len(word) for cell in column for word in cell.split()), default=1) for column in columns]
    most = [max(len(cell) for cell in column) for column in columns]
    while sum(widths) > max(room, len(widths)):
        widths[widths.index(max(widths))] -= 1
    while sum(widths) < min(room, sum(most)):
        _, narrowest = min((width, at) for at, width in enumerate(widths) if width < most[at])
        widths[narrowest] += 1
    return widths


def as_json(problem: Problem) -> dict[str, Any]:
    """A problem's fields; ``value`` is what was written, where that is JSON."""
    return asdict(problem)


def counted(number: int, noun: str) -> str:
    """``1 warning``, ``2 warnings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _marked(text: str, severity: Severity) -> str:
    plain = not sys.stderr.isatty() or "NO_COLOR" in os.environ
    return text if plain else f"\x1b[{_COLORS[severity]}m{text}\x1b[0m"
