"""Text and tables for a person. Also what every command prints if nothing else is requested."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from multiarch.cli.formats.columns import GAP, arrange_table
from multiarch.cli.formats.report import Block, Details, Report, Table
from multiarch.cli.lines import count_columns, make_runnable, wrap_lines
from multiarch.escaping import escape_terminal

_PIPE_WIDTH, _PIPE_MATRIX = 240, 120
"""Characters in a line where there is neither a terminal nor ``COLUMNS``; a matrix is compared by eye, and narrower."""
_MARGIN, _HEIGHT = 2, 25
_BELOW = "\ue000"
"""In a grid: the line at whose place the cells below a row are printed. Text that others wrote never has it."""
_NUMBERED = re.compile(r"(\d+) .*")
_FILLING = re.compile(r"(?:\s|\x1b\[[0-9;]*m)+$")
_RULE = frozenset(" ─")
_STYLES = (
    ("green", re.compile(r"ok|supported|proven|consistent|runs|ready|already there(, [a-z0-9 ]+)?")),
    ("red", re.compile(r"failed|unsupported|wrong|FAILS|blocked( by [a-z ]+)?")),
    ("yellow", re.compile(r"warning|unknown|cannot tell|does not run")),
)
"""Colours of verdicts, in every table."""


def render(report: Report) -> str:
    """Return the report's blocks, with an empty line between two of them unless both are plain lines."""
    lines: list[str] = []
    after_text = True
    for block in report.blocks():
        for part in _parts(block):
            is_text = isinstance(part, str)
            if lines and not (is_text and after_text):
                lines.append("")
            lines += _lines(part)
            after_text = is_text
    return "".join(f"{line}\n" for line in lines)


def _parts(block: Block) -> Iterator[Block]:
    """Yield the block; instead of a table that is grouped or too wide, the tables it is shown as."""
    if not isinstance(block, Table):
        yield block
    elif block.grouped:
        for value, group in groupby(block.rows, key=lambda row: row[0]):
            title = f"{block.columns[0]}={value}" if value else f"without {block.columns[0]}"
            yield Table(block.columns[1:], [row[1:] for row in group], title)
    elif block.matrix:
        slices = list(_slices(list(zip(block.columns, *block.rows, strict=True))))
        if len(slices) > 1:
            names = [_NUMBERED.sub(r"\1", name) for name in block.columns]
            slices = list(_slices(list(zip(names, *block.rows, strict=True))))
        for number, columns in enumerate(slices):
            head, *rows = zip(*columns, strict=True)
            yield Table(head, rows, "" if number else block.title, matrix=True)
    else:
        yield block


def _slices(columns: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Yield the columns in as many slices as needed, each with the first column and narrow enough.

    Those that are too wide beside the first column are together in the last slice.
    """
    first, *others = columns
    limit = count_columns(sys.stdout, _PIPE_MATRIX) - _MARGIN
    part, width = [first], _width(first)
    wide = [column for column in others if width + GAP + _width(column) > limit]
    for column in (each for each in others if each not in wide):
        if len(part) > 1 and width + GAP + _width(column) > limit:
            yield part
            part, width = [first], _width(first)
        part.append(column)
        width += GAP + _width(column)
    if len(part) > 1 or not wide:
        yield part
    if wide:
        yield [first, *wide]


def _width(column: Sequence[str]) -> int:
    return max(len(cell) for cell in column)


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield from _text(block)
        return
    if block.title:
        yield from _text(block.title)
    if isinstance(block, Table):
        yield from _table([name if block.matrix else name.upper() for name in block.columns], block.rows)
    elif isinstance(block, Details):
        for statement, reasons in block.statements:
            yield from _text(statement, "  ", "    ")
            for reason in reasons:
                yield from _text(reason, "    ", "      ")
    else:
        for item in block.items:
            yield from _text(item, "- ", "  ")


def _text(text: str, first: str = "", others: str = "") -> Iterator[str]:
    """Yield a line; on a terminal, and if ``COLUMNS`` is set, lines that are broken between words."""
    text = _shown(text)
    line = f"{first}{text}"
    if (sys.stdout.isatty() or "COLUMNS" in os.environ) and len(line) > (room := count_columns(sys.stdout)):
        yield from wrap_lines(text, room, first=first, others=others)
    else:
        yield line


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield lines of a table: without colours in a pipe, and wide enough there that no line breaks early.

    A cell for which the line has no room is printed below its row, with the name of its column. On a terminal verdicts
    have a colour (unless ``NO_COLOR`` is set), and words are not broken, so that they can be copied: where one does not
    fit, the terminal breaks its line.
    """
    columns = [escape_terminal(name) for name in columns]
    cells = [[_shown(cell) for cell in row] for row in rows]
    room = count_columns(sys.stdout, _PIPE_WIDTH)
    places = arrange_table(columns, cells, room, _is_whole)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, width in zip(places.columns, places.widths, strict=True):
        grid.add_column(columns[at], overflow="fold", width=width)
    for row, below in zip(cells, places.below, strict=True):
        shown = ["" if at in below else row[at] for at in places.columns]
        if 0 not in below:
            grid.add_row(*(Text(cell, _style(cell)) for cell in shown))
        if below:
            grid.add_row(_BELOW)
    # With a height too, the width counts on every kind of terminal.
    width = max(room, sum(places.widths) + GAP * len(places.widths))
    console = Console(highlight=False, width=width, height=_HEIGHT)
    with console.capture() as captured:
        console.print(grid)
    rows_below = (
        [line for at in below for line in (_below(columns[at], row[at], room, console) if at else [f" {row[0]}"])]
        for row, below in zip(cells, places.below, strict=True)
        if below
    )
    for line in captured.get().splitlines():
        # Rich fills lines up with spaces, and frames the table with empty lines.
        filled = _FILLING.sub("", line)
        if filled.strip() == _BELOW:
            yield from next(rows_below)
        elif filled:
            yield filled[:room] if set(filled) <= _RULE else f"{filled}\x1b[0m" if "\x1b" in filled else filled


def _below(name: str, cell: str, room: int, console: Console) -> Iterator[str]:
    """Yield the lines of a cell below its row, beginning with the name of its column."""
    label = f"  {name}: " if name else "  "
    if style := _style(cell):
        with console.capture() as captured:
            console.print(Text(cell, style), end="")
        yield f"{label}{captured.get()}"
        return
    words = cell.split()
    if words and len(label) + len(words[0]) > room:
        yield label.rstrip()
        label = "    "
    yield from wrap_lines(cell, room, first=label, others="    ")


def _shown(text: str) -> str:
    return escape_terminal(make_runnable(text))


def _style(cell: str) -> str:
    return next((style for style, words in _STYLES if words.fullmatch(cell)), "")


def _is_whole(cell: str) -> bool:
    """Return whether a cell means nothing when it is broken: a verdict."""
    return bool(_style(cell))
