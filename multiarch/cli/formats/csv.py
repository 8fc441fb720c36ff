"""CSV for spreadsheets: one row per thing. Lines end with CRLF.

Source: https://www.rfc-editor.org/rfc/rfc4180
"""

from __future__ import annotations

import csv
import io

from multiarch.cli.formats.report import Report

_FORMULA = ("=", "+", "-", "@")


def render(report: Report) -> str:
    """The report's records. A cell that a spreadsheet would compute becomes text by an apostrophe."""
    if report.records is None:
        raise TypeError(f"{report.kind} has no records")
    table = report.records()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row])
    return text.getvalue()
