"""Messages for the person at the terminal, on stderr; stdout is for data."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import typer

from multiarch.cli.lines import count_columns, make_runnable, wrap_lines
from multiarch.errors import ACKNOWLEDGED, MultiarchError, Problem, ProblemsError, merge_warnings
from multiarch.escaping import escape_terminal
from multiarch.rules import Severity

Progress = Callable[[int, int], None]
"""Takes how much is done, and how much there is."""
_COLORS = {Severity.ERROR: 31, Severity.WARNING: 33, ACKNOWLEDGED: 2}


def print_message(text: str) -> None:
    """Print a message to stderr: one line in a pipe; a terminal gets lines that are broken between words."""
    for line in _lines(text, text[: -len(text.lstrip())] if text.lstrip() else ""):
        typer.echo(line, err=True)


def print_command(text: str) -> None:
    """Print a command to stderr on one line, also on a terminal, so that it can be copied."""
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
        _say_marked(problem.mark, f"{problem} [{problem.rule}]")


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
        # Manifests, a cluster or a stack are read first, and there may be no image in them.
        task = bar.add_task(what.partition(" ")[0], total=None, amount="")

        def step(done: int, total: int) -> None:
            amount = f"{decimal(done)} of {decimal(total)}" if in_bytes else f"{done} of {total}"
            bar.update(task, description=what, completed=done, total=total, amount=amount)

        yield step


def _say_marked(mark: str, text: str) -> None:
    """Print a message behind its mark; what is acknowledged is dim as a whole."""
    lines = _lines(f"{mark}: {text}")
    if sys.stderr.isatty() and "NO_COLOR" not in os.environ:
        start, end = f"\x1b[{_COLORS[mark]}m", "\x1b[0m"
        if mark == ACKNOWLEDGED:
            lines = [f"{start}{line}{end}" for line in lines]
        else:
            lines[0] = lines[0].replace(mark, f"{start}{mark}{end}", 1)
    for line in lines:
        typer.echo(line, err=True)


def _lines(text: str, indent: str = "") -> list[str]:
    text = escape_terminal(make_runnable(text))
    if not sys.stderr.isatty() or len(text) <= (room := count_columns(sys.stderr)):
        return [text]
    return list(wrap_lines(text, room, first=indent, others=f"{indent}  "))
