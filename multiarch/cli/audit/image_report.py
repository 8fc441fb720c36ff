"""The report of ``multiarch audit images``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from multiarch.cli.formats.report import Block, Items, Report, Table, make_grouped_table
from multiarch.images.model import Verdict
from multiarch.observed.verdicts import ImageRow, ImageVerdicts
from multiarch.observed.workloads import ImageUse
from multiarch.rules import Finding, Location
from multiarch.rules.rule import error, warning
from multiarch.runs.audits import ImageAudit

_SHOWN_USERS = 3
"""Workloads named in a table's row; the others are counted. JSON names all of them."""
_RULES = {
    Verdict.UNSUPPORTED: error(
        "image-unsupported", "an image that has no build for an architecture", "Build it for both architectures."
    ),
    Verdict.UNKNOWN: warning(
        "image-unknown", "an image of which it is unknown whether it has a build", "See the reason in the message."
    ),
}


def build_image_report(audit: ImageAudit, group_by: str) -> Report:
    """Return the report. ``group_by`` is a label of workloads; rows are grouped by its value."""
    return Report(
        "image-audit",
        data=partial(_data, audit, group_by),
        blocks=partial(_blocks, audit.images, group_by),
        findings=partial(_findings, audit.images),
    )


def _groups(images: ImageVerdicts, label: str) -> list[tuple[str, list[ImageRow]]]:
    """Return the rows by their workloads' value for ``label``, empty if they have none. Without a label: one group.

    An image that two teams use is in both groups, each time with that team's uses.
    """
    if not label:
        return [("", list(images.rows))]
    found: dict[str, list[ImageRow]] = {}
    for row in images.rows:
        by_value: dict[str, list[ImageUse]] = {}
        for use in row.uses:
            by_value.setdefault(dict(use.labels).get(label, ""), []).append(use)
        for value, uses in by_value.items():
            found.setdefault(value, []).append(ImageRow(row.image, row.judgements, tuple(uses)))
    return sorted(found.items())


def _data(audit: ImageAudit, group_by: str) -> dict[str, object]:
    return {
        "architectures": audit.images.architectures,
        "summary": {str(verdict): audit.images.count(verdict) for verdict in Verdict},
        "groupedBy": group_by or None,
        "images": [
            {
                "image": row.image,
                **({"group": value} if group_by else {}),
                "verdicts": row.judgements,
                "uses": row.uses,
            }
            for value, rows in _groups(audit.images, group_by)
            for row in rows
        ],
        **audit.not_read.to_json(),
    }


def _blocks(images: ImageVerdicts, group_by: str) -> Iterator[Block]:
    """Yield the table, then each reason that is the same for several unknown images: a registry that does not answer.

    Their rows have its first words.
    """
    found = Counter(_reason(row) for row in images.rows if row.worst is Verdict.UNKNOWN)
    shared = {reason: count for reason, count in found.items() if count > 1 and ": " in reason}

    def reason(row: ImageRow) -> str:
        whole = _reason(row)
        return whole.partition(": ")[0] if whole in shared else whole

    yield _table(images, group_by, reason)
    if shared:
        yield Items("Reasons of several images", [f"{count} images: {each}" for each, count in sorted(shared.items())])


def _table(images: ImageVerdicts, group_by: str, reason: Callable[[ImageRow], str]) -> Table:
    def cells(row: ImageRow) -> list[str]:
        return [row.image, *(str(each.verdict) for each in row.judgements), reason(row), *_users(row)]

    columns = ["image", *map(str, images.architectures), "reason", "used by", "namespaces"]
    return make_grouped_table(group_by, _groups(images, group_by), columns, cells)


def _reason(row: ImageRow) -> str:
    """Return why the image is not supported on an architecture; empty if it is supported on all."""
    found = [each for each in row.judgements if each.verdict is not Verdict.SUPPORTED]
    if len({each.reason for each in found}) == 1:
        return found[0].reason
    return "; ".join(f"{each.architecture}: {each.reason}" for each in found)


def _users(row: ImageRow) -> list[str]:
    """Return the workloads that use the image, and their namespaces."""
    users, namespaces = sorted({str(use.workload) for use in row.uses}), sorted({use.namespace for use in row.uses})
    more = len(users) - _SHOWN_USERS
    named = ", ".join(users[:_SHOWN_USERS]) + (f" and {more} more" if more > 0 else "")
    return [named, ", ".join(namespaces)]


def _findings(images: ImageVerdicts) -> Iterator[Finding]:
    """Yield a finding per image and architecture that is not supported, at every place that uses it."""
    for row in images.rows:
        for each in row.judgements:
            if each.verdict is not Verdict.SUPPORTED:
                subject = f"{row.image} on {each.architecture}"
                fingerprint = ("imageAndArchitecture/v1", f"{row.image} {each.architecture}")
                places = [_location(use) for use in row.uses]
                yield Finding(_RULES[each.verdict], subject, each.reason, locations=places, fingerprint=fingerprint)


def _location(use: ImageUse) -> Location:
    name = f"{use.namespace}/{use.workload.kind}/{use.workload.name}/{use.container}"
    if (place := use.location) is None:
        return Location(container=use.container, qualified_name=name)
    return Location(place.file, place.line, use.container, name)
