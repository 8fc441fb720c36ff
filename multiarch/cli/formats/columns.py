"""A table within a width: columns side by side, and below its row what has no room there. No word is broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from multiarch.cli.lines import wrap_lines

GAP = 3
"""Characters between two columns."""
_TALLEST = 4
"""Lines of a cell: a longer text is easier to read below its row."""
_ANY = sys.maxsize
_LONGEST = (*((_ANY, longest) for longest in (_ANY, 200, 120, 80, 60, 40, 24)), (24, 24), (_ANY, 0))
"""Characters of a cell that stays in its column: of the first, of another; the first pair that fits is taken."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Where the cells of a table are.

    ``columns`` are the indexes of the columns side by side, with their ``widths``; ``below`` has for each row the
    indexes of the cells below it, sorted: all that are not empty, with the first, where the whole row is a list.
    """

    columns: Sequence[int]
    widths: Sequence[int]
    below: Sequence[Sequence[int]]


def arrange_table(
    names: Sequence[str], rows: Sequence[Sequence[str]], room: int, is_whole: Callable[[str], bool]
) -> Arrangement:
    """Arrange a table in lines of ``room`` characters. The first column names the row: it stays, or is a line alone.

    ``is_whole`` says of a cell whether it must not be broken between its words.
    """
    for first, longest in _LONGEST:
        gone, below = _moved(len(names), rows, longest)
        lists = [at for at, row in enumerate(rows) if len(row[0]) > first]
        if len(lists) * 2 > len(rows):
            continue
        for at in lists:
            below[at] = {cell for cell, text in enumerate(rows[at]) if text}
        columns = [at for at in range(len(names)) if at not in gone]
        beside = [["" if at in cells else row[at] for at in columns] for row, cells in zip(rows, below, strict=True)]
        shown = list(zip([names[at] for at in columns], *beside, strict=True))
        widths = _widths(shown, room, is_whole)
        if widths is not None:
            break
    return Arrangement(columns, widths or (), [sorted(cells) for cells in below])


def _moved(count: int, rows: Sequence[Sequence[str]], longest: int) -> tuple[set[int], list[set[int]]]:
    """The columns that are below their rows as a whole, and for each row the cells below it: those that are longer."""
    below = [{at for at in range(1, count) if len(row[at]) > longest} for row in rows]
    gone = set()
    for at in range(1, count):
        filled = sum(bool(row[at]) for row in rows)
        # A column that is mostly empty tells less than it takes room.
        if not longest or sum(at in cells for cells in below) * 2 > filled:
            gone.add(at)
            for row, cells in zip(rows, below, strict=True):
                if row[at]:
                    cells.add(at)
    return gone, below


def _widths(columns: Sequence[Sequence[str]], room: int, is_whole: Callable[[str], bool]) -> list[int] | None:
    """Share ``room`` among columns, or return None if a word would be broken, or a cell were too tall.

    The first column alone gets what its words need.
    """
    room -= GAP * len(columns) - 1
    parts = [[part for cell in each for part in ([cell] if is_whole(cell) else cell.split())] for each in columns]
    widths = [max(map(cell_len, each), default=1) for each in parts]
    most = [max(map(cell_len, each)) for each in columns]
    while sum(widths) < min(room, sum(most)):
        _, narrowest = min((width, at) for at, width in enumerate(widths) if width < most[at])
        widths[narrowest] += 1
    if len(columns) == 1:
        return widths
    if sum(widths) > room:
        return None
    for cells, width in zip(columns[1:], widths[1:], strict=True):
        if any(len(cell) > width and sum(1 for _ in wrap_lines(cell, width)) > _TALLEST for cell in cells):
            return None
    return widths
