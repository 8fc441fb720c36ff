"""The report of ``multiarch audit images``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from multiarch.audit.images import ImageAudit, ImageRow
from multiarch.audit.uses import ImageUse, NotRead
from multiarch.cli.audit.sources import not_read_data
from multiarch.cli.formats.report import Finding, FindingRule, Findings, Location, Report, Table, grouped
from multiarch.images.model import Verdict

if TYPE_CHECKING:
    from multiarch.images.model import Judgement

_SHOWN_USERS = 3
"""Workloads named in a table's row; the others are counted. CSV names all of them."""
_RULES = {
    Verdict.UNSUPPORTED: FindingRule("image-unsupported", "error", "The image has no build for an architecture."),
    Verdict.UNKNOWN: FindingRule(
        "image-unknown", "warning", "Whether the image has a build for an architecture is unknown."
    ),
}


def image_report(audit: ImageAudit, group_by: str, not_read: NotRead) -> Report:
    """The report. ``group_by`` is a label of workloads; rows are grouped by its value."""
    return Report(
        "image-audit",
        data=partial(_data, audit, group_by, not_read),
        blocks=lambda: [_table(audit, group_by, ("used by", "namespaces"), _summary_cells)],
        records=partial(_table, audit, group_by, ("workloads", "namespaces"), _record_cells),
        findings=partial(_findings, audit),
    )


def _groups(audit: ImageAudit, label: str) -> list[tuple[str, list[ImageRow]]]:
    """The rows by their workloads' value for ``label``, empty if they have none. Without a label: one group.

    An image that two teams use is in both groups, each time with that team's uses.
    """
    if not label:
        return [("", list(audit.rows))]
    found: dict[str, list[ImageRow]] = {}
    for row in audit.rows:
        by_value: dict[str, list[ImageUse]] = {}
        for use in row.uses:
            by_value.setdefault(dict(use.labels).get(label, ""), []).append(use)
        for value, uses in by_value.items():
            found.setdefault(value, []).append(ImageRow(row.image, row.judgements, tuple(uses)))
    return sorted(found.items())


def _data(audit: ImageAudit, group_by: str, not_read: NotRead) -> dict[str, object]:
    return {
        "architectures": [str(each) for each in audit.architectures],
        "summary": {str(verdict): audit.count(verdict) for verdict in Verdict},
        "groupedBy": group_by or None,
        "images": [
            {
                "image": row.image,
                **({"group": value} if group_by else {}),
                "verdicts": [
                    {
                        "architecture": str(each.architecture),
                        "verdict": str(each.verdict),
                        "reason": each.reason,
                        "digest": each.digest,
                    }
                    for each in row.judgements
                ],
                "uses": [_use_data(use) for use in row.uses],
            }
            for value, rows in _groups(audit, group_by)
            for row in rows
        ],
        **not_read_data(not_read),
    }


def _use_data(use: ImageUse) -> dict[str, object]:
    return {
        "namespace": use.workload.namespace,
        "kind": use.workload.kind,
        "name": use.workload.name,
        "container": use.container,
        "role": str(use.role),
        "file": use.location.file if use.location else None,
        "line": use.location.line if use.location else None,
    }


def _table(
    audit: ImageAudit, group_by: str, users: Sequence[str], user_cells: Callable[[ImageRow], list[str]]
) -> Table:
    columns = grouped(group_by, group_by, ["image", *map(str, audit.architectures), "reason", *users])
    rows = [
        grouped(group_by, value, [row.image, *_verdicts(row), _reasons(row), *user_cells(row)])
        for value, rows in _groups(audit, group_by)
        for row in rows
    ]
    return Table(columns, rows, grouped=bool(group_by))


def _verdicts(row: ImageRow) -> list[str]:
    return [str(each.verdict) for each in row.judgements]


def _reasons(row: ImageRow) -> str:
    """Why the image is not supported on an architecture; empty if it is supported on all."""
    found = [each for each in row.judgements if each.verdict is not Verdict.SUPPORTED]
    if len({each.reason for each in found}) == 1:
        return found[0].reason
    return "; ".join(f"{each.architecture}: {each.reason}" for each in found)


def _users(row: ImageRow) -> list[str]:
    return sorted({str(use.workload) for use in row.uses})


def _namespaces(row: ImageRow) -> list[str]:
    return sorted({use.workload.namespace for use in row.uses})


def _summary_cells(row: ImageRow) -> list[str]:
    users = _users(row)
    more = len(users) - _SHOWN_USERS
    named = ", ".join(users[:_SHOWN_USERS]) + (f" and {more} more" if more > 0 else "")
    return [named, ", ".join(_namespaces(row))]


def _record_cells(row: ImageRow) -> list[str]:
    """Names separated by spaces."""
    return [" ".join(_users(row)), " ".join(_namespaces(row))]


def _findings(audit: ImageAudit) -> Findings:
    """One finding per image and architecture that is not supported, at every place that uses it."""
    found = [
        _finding(row, judgement)
        for row in audit.rows
        for judgement in row.judgements
        if judgement.verdict is not Verdict.SUPPORTED
    ]
    return Findings(tuple(_RULES.values()), found)


def _finding(row: ImageRow, judgement: Judgement) -> Finding:
    return Finding(
        _RULES[judgement.verdict],
        f"{row.image} on {judgement.architecture}: {judgement.reason}",
        [_location(use) for use in row.uses],
        ("imageAndArchitecture/v1", f"{row.image} {judgement.architecture}"),
    )


def _location(use: ImageUse) -> Location:
    workload = use.workload
    return Location(
        file=use.location.file if use.location else None,
        line=use.location.line if use.location else None,
        container=use.container,
        qualified_name=f"{workload.namespace}/{workload.kind}/{workload.name}/{use.container}",
    )
