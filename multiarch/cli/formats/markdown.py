"""Markdown for merge requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from multiarch.cli.formats.report import Block, Details, Report, Table

_LINE_BREAKS = str.maketrans("\n", " ")


def render(report: Report) -> str:
    """The report's blocks with an empty line between them."""
    return "\n".join("".join(f"{line}\n" for line in _lines(block)) for block in report.blocks())


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield _escaped(block)
        return
    if block.title:
        yield from (f"**{_escaped(block.title)}**", "")
    if isinstance(block, Table):
        yield _row(block.columns)
        yield _row(["---"] * len(block.columns))
        yield from map(_row, block.rows)
    elif isinstance(block, Details):
        for number, (statement, reasons) in enumerate(block.statements):
            if number:
                yield ""
            yield from (_escaped(statement), "", *_bullets(reasons))
    else:
        yield from _bullets(block.items)


def _bullets(items: Iterable[str]) -> Iterator[str]:
    return (f"- {_escaped(item)}" for item in items)


def _row(cells: Iterable[str]) -> str:
    escaped = (cell.replace("\\", "\\\\").replace("|", "\\|").translate(_LINE_BREAKS) for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{each}" if each in "\\`*_{}[]<>#|" else each for each in text.translate(_LINE_BREAKS))
