"""Markdown for merge requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from multiarch.cli.formats.report import Block, Details, Report, Table
from multiarch.markdown import escape_markdown, format_table


def render(report: Report) -> str:
    """Return the report's blocks with an empty line between them."""
    return "\n".join("".join(f"{line}\n" for line in _lines(block)) for block in report.blocks())


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield escape_markdown(block)
        return
    if block.title:
        yield from (f"**{escape_markdown(block.title)}**", "")
    if isinstance(block, Table):
        columns = [escape_markdown(name) for name in block.columns]
        yield from format_table(columns, (map(escape_markdown, row) for row in block.rows))
    elif isinstance(block, Details):
        for number, (statement, reasons) in enumerate(block.statements):
            if number:
                yield ""
            yield from (escape_markdown(statement), "", *_bullets(reasons))
    else:
        yield from _bullets(block.items)


def _bullets(items: Iterable[str]) -> Iterator[str]:
    return (f"- {escape_markdown(item)}" for item in items)
