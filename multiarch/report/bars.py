"""The geometry of a bar chart: lengths in per cent of the width, heights in pixels, so that text keeps its size."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.report.model import BarChart, Status

_BAR, _TEXT, _GAP = 14, 18, 14
"""Pixels of a bar, of the line of text above it, and between two of both."""
ORDER = tuple(Status)
"""The order of pieces in a bar, and of the legend."""
_LONGEST = 32
"""Characters of a label: more would meet the text at the other end on a phone."""


@dataclass(frozen=True, slots=True)
class DrawnPiece:
    """A rectangle: ``x`` and ``width`` in per cent."""

    x: str
    width: str
    status: Status
    title: str


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A bar with its line of text; ``baseline`` and ``y`` in pixels from the top."""

    label: str
    text: str
    baseline: int
    y: int
    pieces: tuple[DrawnPiece, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart. ``description`` says all of it to those who don't see it; ``legend`` has each label once."""

    height: int
    bar_height: int
    bars: tuple[DrawnBar, ...]
    description: str
    legend: tuple[tuple[str, Status], ...]


def drawn(chart: BarChart) -> Drawing:
    """Lay a chart out; the longest bar has the whole width."""
    longest = max((bar.amount for bar in chart.bars), default=0)
    bars = []
    for number, bar in enumerate(chart.bars):
        top = number * (_TEXT + _BAR + _GAP)
        pieces, x = [], 0.0
        for piece in bar.pieces:
            width = 100 * piece.amount / longest if longest else 0
            if width:
                pieces.append(DrawnPiece(f"{x:.3f}%", f"{width:.3f}%", piece.status, f"{piece.label}: {piece.text}"))
            x += width
        label = bar.label if len(bar.label) <= _LONGEST else f"{bar.label[: _LONGEST - 1]}…"
        bars.append(DrawnBar(label, bar.text, top + _TEXT - 5, top + _TEXT, tuple(pieces)))
    legend = {piece.label: piece.status for bar in chart.bars for piece in bar.pieces if piece.amount}
    description = "; ".join(
        f"{bar.label}: {', '.join(f'{piece.text} {piece.label}' for piece in bar.pieces if piece.amount) or bar.text}"
        for bar in chart.bars
    )
    height = max(len(bars) * (_TEXT + _BAR + _GAP) - _GAP, 1)
    return Drawing(
        height, _BAR, tuple(bars), description, tuple(sorted(legend.items(), key=lambda item: ORDER.index(item[1])))
    )
