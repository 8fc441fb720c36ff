"""JSON of one shape for all commands: ``{"version": "2", "kind": KIND, …}``.

docs/reference/json-output.md describes the kinds. ``version`` changes when a key is removed or changes its meaning,
not when a key is added.
"""

from __future__ import annotations

from multiarch.cli.formats.report import Report
from multiarch.escaping import format_json
from multiarch.serialization import to_json

VERSION = "2"


def render(report: Report) -> str:
    """Return one JSON document."""
    return format_json(
        {"version": VERSION, "kind": report.kind, **to_json(report.data() if callable(report.data) else report.data)}
    )
