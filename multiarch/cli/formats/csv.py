"""CSV for spreadsheets: one row per thing. Lines end with CRLF.

Source: https://www.rfc-editor.org/rfc/rfc4180
"""

from __future__ import annotations

import csv
import io

from multiarch.cli.formats.report import Report
from multiarch.escaping import csv_cell


def render(report: Report) -> str:
    """The report's records."""
    if report.records is None:
        raise TypeError(f"{report.kind} has no records")
    table = report.records()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([csv_cell(name) for name in table.columns])
    for row in table.rows:
        writer.writerow([csv_cell(cell) for cell in row])
    return text.getvalue()
