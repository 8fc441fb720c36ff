"""What the page shows: frozen values that the template renders, without any HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

_LONG = 40
"""Rows that a table shows without scrolling."""


class Status(StrEnum):
    """How a cell or a bar looks. The text beside it always says the same: no meaning is in the color alone."""

    PLAIN = ""
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    ARM64 = "arm64"
    ARM64_SPOT = "arm64-spot"
    AMD64 = "amd64"
    AMD64_SPOT = "amd64-spot"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PageCell:
    """A cell of a table.

    ``order`` is what a column is sorted by; without it, the text is. ``details`` are sentences that a reader unfolds.
    """

    text: str
    order: float | None = None
    status: Status = Status.PLAIN
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table: the first cell of a row names it.

    ``numeric`` columns are aligned to the right and first sorted with the largest number on top.
    ``matrix``: the columns are things of one kind, and there may be many of them; a narrow screen scrolls such a table,
    and shows the rows of any other as cards.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[PageCell]]
    numeric: Collection[str] = ()
    matrix: bool = False

    @property
    def is_long(self) -> bool:
        """Whether the table scrolls by itself, so that what follows it can be found."""
        return len(self.rows) > _LONG


@dataclass(frozen=True, slots=True)
class ChartPiece:
    """A part of a bar: ``amount`` in the chart's unit, and ``text`` that says it."""

    label: str
    amount: float
    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A bar; ``text`` stands at its end."""

    label: str
    pieces: tuple[ChartPiece, ...]
    text: str

    @property
    def amount(self) -> float:
        """The length, in the chart's unit."""
        return sum(piece.amount for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars with one scale. The tables beside it have all its numbers."""

    title: str
    bars: tuple[ChartBar, ...]


@dataclass(frozen=True, slots=True)
class PageSection:
    """One part of the page.

    ``unread`` is why it could not be made; it then has nothing else. ``warnings`` are shown before everything else,
    ``notes`` say what is assumed or omitted.
    """

    identifier: str
    title: str
    summary: str = ""
    charts: tuple[BarChart, ...] = ()
    tables: tuple[PageTable, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A number at the top of the page, with a link to the section that explains it."""

    label: str
    value: str
    detail: str
    section: str
    status: Status = Status.PLAIN


@dataclass(frozen=True, slots=True)
class Page:
    """The whole page. ``facts`` are pairs such as region and version; ``made`` is when, as text."""

    title: str
    source: str
    made: str
    facts: tuple[tuple[str, str], ...]
    figures: tuple[KeyFigure, ...]
    sections: tuple[PageSection, ...]
