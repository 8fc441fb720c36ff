"""Messages for the person at the terminal, on stderr; stdout is for data."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import typer

from multiarch.cli.lines import count_columns, make_runnable, wrap_lines
from multiarch.errors import MultiarchError, Problem, ProblemsError, merge_warnings
from multiarch.escaping import escape_terminal
from multiarch.rules import Severity

Progress = Callable[[int, int], None]
"""Takes how much is done, and how much there is."""
_ACKNOWLEDGED = "note"
_COLORS = {Severity.ERROR: 31, Severity.WARNING: 33, _ACKNOWLEDGED: 2}


def print_message(text: str) -> None:
    """Print one line to stderr."""
    typer.echo(escape_terminal(make_runnable(text)), err=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes that came with a result, such as what could not be read besides."""
    for each in notes:
        print_message(f"note: {each}")


def show_error(error: MultiarchError) -> None:
    """Print an error to stderr: each of its problems on one line, or its message and hint."""
    if isinstance(error, ProblemsError):
        show_problems(error.problems)
    else:
        _say_marked(Severity.ERROR, str(error))


def show_problems(problems: Iterable[Problem]) -> None:
    """Print problems to stderr: severity, file and line, key, message, hint, and the rule's name.

    One per line; a terminal gets lines that are broken between words.
    """
    for problem in merge_warnings(problems):
        _say_marked(_ACKNOWLEDGED if problem.acknowledged else problem.severity, f"{problem} [{problem.rule}]")


@contextmanager
def show_progress(what: str, *, in_bytes: bool = False) -> Iterator[Progress]:
    """Show a progress bar on stderr if that is a terminal; it is gone at the end."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    # It takes long to load, and most runs have no terminal.
    from rich import progress as bars  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.filesize import decimal  # noqa: PLC0415

    columns = ("{task.description}", bars.BarColumn(), "{task.fields[amount]}", bars.TimeElapsedColumn())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, amount="")

        def step(done: int, total: int) -> None:
            amount = f"{decimal(done)} of {decimal(total)}" if in_bytes else f"{done} of {total}"
            bar.update(task, completed=done, total=total, amount=amount)

        yield step


def _say_marked(mark: str, text: str) -> None:
    """Print a message behind its mark; what is acknowledged is dim as a whole."""
    terminal = sys.stderr.isatty()
    lines = [f"{mark}: {escape_terminal(make_runnable(text))}"]
    if terminal and len(lines[0]) > (room := count_columns(sys.stderr)):
        lines = list(wrap_lines(lines[0], room, others="  "))
    if terminal and "NO_COLOR" not in os.environ:
        start, end = f"\x1b[{_COLORS[mark]}m", "\x1b[0m"
        if mark == _ACKNOWLEDGED:
            lines = [f"{start}{line}{end}" for line in lines]
        else:
            lines[0] = lines[0].replace(mark, f"{start}{mark}{end}", 1)
    for line in lines:
        typer.echo(line, err=True)
