"""Messages for the person at the terminal, on stderr; stdout is for data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from multiarch.errors import MultiarchError, Problem, StackError, said_once
from multiarch.escaping import escaped
from multiarch.rules import Severity

if TYPE_CHECKING:
    from multiarch.images.verify import Progress

_COLORS = {Severity.ERROR: 31, Severity.WARNING: 33}


def say(text: str) -> None:
    """Print one line to stderr."""
    typer.echo(escaped(text), err=True)


def show_error(error: MultiarchError) -> None:
    """Print an error to stderr: each of its problems on one line, or its message and hint."""
    if isinstance(error, StackError):
        show_problems(error.problems)
    else:
        _say_marked(Severity.ERROR, str(error))


def show_problems(problems: Iterable[Problem]) -> None:
    """Print problems to stderr, one per line: severity, file and line, key, message, hint, and the rule's name."""
    for problem in said_once(problems):
        _say_marked(problem.severity, f"{problem} [{problem.rule}]")


def counted(number: int, noun: str) -> str:
    """``1 warning``, ``2 warnings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@contextmanager
def progress(what: str, *, in_bytes: bool = False) -> Iterator[Progress]:
    """Show a progress bar on stderr if that is a terminal; it is gone at the end."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (bars.TextColumn("{task.description}"), bars.BarColumn())
    amounts = (bars.DownloadColumn(), bars.TransferSpeedColumn())
    counts = (bars.MofNCompleteColumn(), bars.TimeElapsedColumn())
    shown = (*columns, *(amounts if in_bytes else counts))
    with bars.Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _say_marked(severity: Severity, text: str) -> None:
    plain = not sys.stderr.isatty() or "NO_COLOR" in os.environ
    mark = str(severity) if plain else f"\x1b[{_COLORS[severity]}m{severity}\x1b[0m"
    typer.echo(f"{mark}: {escaped(text)}", err=True)
