"""Text and tables for a person. Also what every command prints if nothing else is asked for."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from multiarch.cli.escaping import escaped
from multiarch.cli.formats.report import Block, Details, Report, Table

_PIPE_WIDTH, _PIPE_MATRIX = 240, 120
"""Characters in a line where there is no terminal; a matrix is compared by eye, and so kept narrower."""
_GAP, _MARGIN, _HEIGHT = 3, 2, 25
_LEGIBLE = 12
"""Characters below which a column is made narrower only if nothing else helps."""
_DIGEST = re.compile(r"sha(256|384|512):[0-9a-f]+")
_STYLES = (
    ("green", re.compile(r"supported|runs|ready|already there(, [a-z0-9 ]+)?")),
    ("red", re.compile(r"unsupported|FAILS|blocked( by [a-z ]+)?")),
    ("yellow", re.compile(r"unknown|does not run")),
)
"""Colours of verdicts, in every table."""


def render(report: Report) -> str:
    """The report's blocks, with an empty line between two of them unless both are plain lines."""
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
    """The block; instead of a table that is grouped or too wide, the tables it is shown as."""
    if not isinstance(block, Table):
        yield block
    elif block.grouped:
        for value, group in groupby(block.rows, key=lambda row: row[0]):
            title = f"{block.columns[0]}={value}" if value else f"without {block.columns[0]}"
            yield Table(block.columns[1:], [row[1:] for row in group], title)
    elif block.matrix:
        for number, columns in enumerate(_slices(list(zip(block.columns, *block.rows, strict=True)))):
            head, *rows = zip(*columns, strict=True)
            yield Table(head, rows, "" if number else block.title, matrix=True)
    else:
        yield block


def _slices(columns: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """The columns in as many slices as needed, each with the first column and narrow enough if that is possible."""
    first, *others = columns
    limit = _room(_PIPE_MATRIX) - _MARGIN
    part, width = [first], _width(first)
    for column in others:
        if len(part) > 1 and width + _GAP + _width(column) > limit:
            yield part
            part, width = [first], _width(first)
        part.append(column)
        width += _GAP + _width(column)
    yield part


def _width(column: Sequence[str]) -> int:
    return max(len(cell) for cell in column)


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield escaped(block)
        return
    if block.title:
        yield escaped(block.title)
    if isinstance(block, Table):
        yield from _table([name if block.matrix else name.upper() for name in block.columns], block.rows)
    elif isinstance(block, Details):
        for statement, reasons in block.statements:
            yield escaped(f"  {statement}")
            yield from (escaped(f"    {reason}") for reason in reasons)
    else:
        yield from (escaped(f"- {item}") for item in block.items)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of a table: without colours in a pipe, and wide enough that no line breaks early.

    On a terminal verdicts have a colour (unless ``NO_COLOR`` is set), and digests are not broken, so that they can be
    copied: where they do not fit, the terminal breaks their lines.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    columns = [escaped(name) for name in columns]
    cells = [[escaped(cell) for cell in row] for row in rows]
    room = _room(_PIPE_WIDTH)
    widths = _widths(columns, cells, room - _GAP * len(columns) + 1)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, width in zip(columns, widths, strict=True):
        grid.add_column(name, overflow="fold", width=width)
    for row in cells:
        grid.add_row(*(Text(cell, _style(cell)) for cell in row))
    # With a height too, the width counts on every kind of terminal.
    console = Console(highlight=False, width=max(room, sum(widths) + _GAP * len(widths)), height=_HEIGHT)
    with console.capture() as captured:
        console.print(grid)
    # Rich fills lines up with spaces, and frames the table with empty lines.
    return (line.rstrip() for line in captured.get().splitlines() if line.strip())


def _room(in_pipe: int) -> int:
    from rich.console import Console

    return Console().width if sys.stdout.isatty() else in_pipe


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Share ``room`` so that names, which are to be copied, are not broken: the longest words break first, if any.

    Where digests and verdicts alone are too wide, the others stay legible, the first column above all: it says what
    the row is about.
    """
    from rich.cells import cell_len

    cells = [[row[at] for row in (columns, *rows)] for at in range(len(columns))]
    whole = [max((cell_len(cell) for cell in column if _is_whole(cell)), default=1) for column in cells]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in cells]
    most = [max(map(cell_len, column)) for column in cells]
    legible = [max(_LEGIBLE, room // 3), *[_LEGIBLE] * len(columns)]
    least = [max(at_least, min(word, enough)) for at_least, word, enough in zip(whole, words, legible, strict=False)]
    widths = [max(pair) for pair in zip(whole, words, strict=True)]
    _narrow(widths, least, room)
    if all(width == 1 for width in whole):  # nothing that must not be broken: everything can be made to fit
        _narrow(widths, whole, room)
    while sum(widths) < min(room, sum(most)):
        _, narrowest = min((width, at) for at, width in enumerate(widths) if width < most[at])
        widths[narrowest] += 1
    return widths


def _narrow(widths: list[int], least: Sequence[int], room: int) -> None:
    """Take from the widest column that has more than its least, until all fit or none has more."""
    while sum(widths) > room and (wide := [at for at, width in enumerate(widths) if width > least[at]]):
        widths[max(wide, key=lambda at: widths[at])] -= 1


def _style(cell: str) -> str:
    return next((style for style, words in _STYLES if words.fullmatch(cell)), "")


def _is_whole(cell: str) -> bool:
    """Whether a cell means nothing when it is broken: a digest, a verdict."""
    return bool(_DIGEST.fullmatch(cell) or _style(cell))
