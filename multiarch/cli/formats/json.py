"""JSON of one shape for all commands: ``{"version": "1", "kind": KIND, …}``.

docs/reference/json-output.md describes the kinds. ``version`` changes when a key is removed or changes its meaning,
not when a key is added.
"""

from __future__ import annotations

from multiarch.cli.formats.report import Report
from multiarch.escaping import json_text

VERSION = "1"


def render(report: Report) -> str:
    """One JSON document."""
    return json_text({"version": VERSION, "kind": report.kind, **report.data()})
