"""GitLab's code quality report: one entry per place of a finding, which merge requests show beside its line.

Source: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
from collections import Counter

from multiarch.cli.formats.report import Report
from multiarch.escaping import escape_terminal, format_json
from multiarch.rules import Finding, Location, Severity

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor"}


def render(report: Report) -> str:
    """Return a JSON array. GitLab needs a path: for a container in a cluster it is the container's qualified name.

    What is acknowledged is omitted: GitLab has no field for it.
    """
    if report.findings is None:
        raise TypeError(f"{report.kind} has no findings")
    seen: Counter[str] = Counter()
    entries = []
    for finding in (each for each in report.findings() if not each.acknowledged):
        for place in finding.locations:
            path = place.qualified_name if place.file is None else place.file
            fingerprint = _digest(finding.rule.name, *finding.fingerprint, path)
            # GitLab compares two reports by fingerprints, and drops an entry whose fingerprint another one has.
            seen[fingerprint] += 1
            if seen[fingerprint] > 1:
                fingerprint = _digest(fingerprint, str(seen[fingerprint]))
            entries.append(_entry(finding, place, path, fingerprint))
    return format_json(entries)


def _entry(finding: Finding, place: Location, path: str, fingerprint: str) -> dict[str, object]:
    return {
        "description": escape_terminal(finding.message),
        "check_name": finding.rule.name,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": path, "lines": {"begin": place.line or 1}},
    }


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
