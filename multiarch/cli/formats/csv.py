"""CSV for spreadsheets: one row per thing. Lines end with CRLF.

Source: https://www.rfc-editor.org/rfc/rfc4180
"""

from __future__ import annotations

import csv
import io

from multiarch.cli.formats.report import Report
from multiarch.escaping import escape_csv


def render(report: Report) -> str:
    """Return the report's records."""
    if report.records is None:
        raise TypeError(f"{report.kind} has no records")
    table = report.records()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([escape_csv(name) for name in table.columns])
    for row in table.rows:
        writer.writerow([escape_csv(cell) for cell in row])
    return text.getvalue()
