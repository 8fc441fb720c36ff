"""The geometry of a bar chart: lengths in per cent of the width, heights in pixels, so that text keeps its size."""

from __future__ import annotations

from typing import Any

from multiarch.report.model import BarChart, Status

_BAR, _TEXT, _GAP = 14, 18, 14
"""Pixels of a bar, of the line of text above it, and between two of both."""
ORDER = tuple(Status)
"""The order of pieces in a bar, and of the legend."""
_LONGEST = 32
"""Characters of a label: more would meet the text at the other end on a phone."""


def draw_chart(chart: BarChart) -> dict[str, Any]:
    """Lay a chart out for the template; the longest bar has the whole width.

    ``description`` says all of it to those who don't see it; ``legend`` has each label once.
    """
    longest = max((bar.amount for bar in chart.bars), default=0)
    bars = []
    for number, bar in enumerate(chart.bars):
        top = number * (_TEXT + _BAR + _GAP)
        pieces, x = [], 0.0
        for piece in bar.pieces:
            width = 100 * piece.amount / longest if longest else 0
            if width:
                title = f"{piece.label}: {piece.text}"
                pieces.append({"x": f"{x:.3f}%", "width": f"{width:.3f}%", "status": piece.status, "title": title})
            x += width
        label = bar.label if len(bar.label) <= _LONGEST else f"{bar.label[: _LONGEST - 1]}…"
        below = top + _TEXT
        bars.append({"label": label, "text": bar.text, "baseline": below - 5, "y": below, "pieces": pieces})
    legend = {piece.label: piece.status for bar in chart.bars for piece in bar.pieces if piece.amount}
    description = "; ".join(
        f"{bar.label}: {', '.join(f'{piece.text} {piece.label}' for piece in bar.pieces if piece.amount) or bar.text}"
        for bar in chart.bars
    )
    return {
        "height": max(len(bars) * (_TEXT + _BAR + _GAP) - _GAP, 1),
        "bar_height": _BAR,
        "bars": bars,
        "description": description,
        "legend": sorted(legend.items(), key=lambda item: ORDER.index(item[1])),
    }
