"""JSON of one shape for all commands: ``{"version": "1", "kind": KIND, …}``.

docs/reference/json-output.md describes the kinds. ``version`` changes when a key is removed or changes its meaning,
not when a key is added.
"""

from __future__ import annotations

import json

from multiarch.cli.formats.report import Report

VERSION = "1"


def render(report: Report) -> str:
    """One JSON document."""
    document = {"version": VERSION, "kind": report.kind, **report.data()}
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"
