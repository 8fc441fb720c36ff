"""CSV for spreadsheets: the first table of a report, a line per row. Lines end with CRLF.

Source: https://www.rfc-editor.org/rfc/rfc4180
"""

from __future__ import annotations

import csv
import io

from multiarch.cli.formats.report import Report, Table
from multiarch.escaping import escape_terminal

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 (spreadsheets know both widths)


def render(report: Report) -> str:
    """Return the rows below the names of their columns."""
    table = next(block for block in report.blocks() if isinstance(block, Table))
    text = io.StringIO()
    csv.writer(text).writerows([escape_cell(cell) for cell in row] for row in (table.columns, *table.rows))
    return text.getvalue()


def escape_cell(text: str) -> str:
    """Return a cell: it begins with an apostrophe where a spreadsheet would compute it."""
    return f"'{escape_terminal(text)}" if text.startswith(_FORMULA) else escape_terminal(text)
