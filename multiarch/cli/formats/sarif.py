"""SARIF 2.1.0 for code scanning: one result per finding.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from urllib.parse import quote

from multiarch import __version__
from multiarch.cli.formats.report import Report
from multiarch.escaping import escape_terminal, format_json
from multiarch.rules import Finding, Location

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: Report) -> str:
    """Return a SARIF log with one run."""
    if report.findings is None:
        raise TypeError(f"{report.kind} has no findings")
    found = list(report.findings())
    names = sorted({each.rule.name: each.rule for each in found}.items())
    rules = [
        {
            "id": name,
            "shortDescription": {"text": f"Finds {rule.finds}."},
            "defaultConfiguration": {"level": str(rule.severity)},
        }
        for name, rule in names
    ]
    driver = {"name": "multiarch", "version": __version__, "rules": rules}
    results = [_result(each, [name for name, _ in names]) for each in found]
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return format_json(log)


def _result(finding: Finding, names: list[str]) -> dict[str, object]:
    return {
        "ruleId": finding.rule.name,
        "ruleIndex": names.index(finding.rule.name),
        "level": str(finding.severity),
        "message": {"text": escape_terminal(finding.message)},
        "locations": [_location(each) for each in finding.locations],
        "partialFingerprints": dict([finding.fingerprint]),
        **_suppressions(finding),
    }


def _suppressions(finding: Finding) -> dict[str, object]:
    if not finding.acknowledged:
        return {}
    return {"suppressions": [{"kind": "inSource", "justification": escape_terminal(finding.acknowledged)}]}


def _location(place: Location) -> dict[str, object]:
    location: dict[str, object] = {}
    if place.qualified_name:
        logical = {"name": place.container, "fullyQualifiedName": place.qualified_name, "kind": "resource"}
        location["logicalLocations"] = [logical]
    if place.file is not None:
        physical: dict[str, object] = {"artifactLocation": {"uri": quote(place.file)}}
        if place.line is not None:
            physical["region"] = {"startLine": place.line}
        location["physicalLocation"] = physical
    return location
