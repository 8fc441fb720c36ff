"""How an audit of images looks: a table, Markdown, CSV, SARIF for code scanning, or the JSON of all commands."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from multiarch import __version__
from multiarch.audit.images import ImageAudit, ImageRow
from multiarch.audit.uses import FileLine, ImageUse
from multiarch.cli.audit.images import Format
from multiarch.cli.output import print_json, print_table
from multiarch.images.model import Verdict

if TYPE_CHECKING:
    from multiarch.images.model import Judgement

_SHOWN_USERS = 3
"""Workloads named in a table's row; the rest are counted. Files name all of them."""
_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    Verdict.UNSUPPORTED: ("image-unsupported", "error", "The image has no build for an architecture."),
    Verdict.UNKNOWN: ("image-unknown", "warning", "Whether the image has a build for an architecture can't be told."),
}


def show(audit: ImageAudit, form: Format, *, group_by: str = "") -> None:
    """Print the audit; ``group_by`` is a label of workloads whose values make the groups (not for SARIF)."""
    if form is Format.JSON:
        print_json("image-audit", as_json(audit, group_by))
    elif form is Format.SARIF:
        typer.echo(json.dumps(as_sarif(audit), indent=2, ensure_ascii=False))
    elif form is Format.CSV:
        typer.echo(as_csv(audit, group_by), nl=False)
    elif form is Format.MARKDOWN:
        typer.echo(as_markdown(audit, group_by), nl=False)
    else:
        _show_tables(audit, group_by)


def groups(audit: ImageAudit, label: str) -> list[tuple[str, list[ImageRow]]]:
    """The rows by the value that their users' workloads have for ``label``, empty where they have none.

    An image that two teams use stands in both groups, each time with that team's users. Without a label all rows are
    one group.
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


def as_json(audit: ImageAudit, group_by: str = "") -> dict[str, object]:
    """The document's content: see docs/reference/json-output.md."""
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
                "uses": [_use_as_json(use) for use in row.uses],
            }
            for value, rows in groups(audit, group_by)
            for row in rows
        ],
    }


def _use_as_json(use: ImageUse) -> dict[str, object]:
    return {
        "namespace": use.workload.namespace,
        "kind": use.workload.kind,
        "name": use.workload.name,
        "container": use.container,
        "role": str(use.role),
        "file": use.location.file if use.location else None,
        "line": use.location.line if use.location else None,
    }


def reasons(row: ImageRow) -> str:
    """Why the image is not supported everywhere; where it is, nothing."""
    found = [each for each in row.judgements if each.verdict is not Verdict.SUPPORTED]
    if len({each.reason for each in found}) == 1:
        return found[0].reason
    return "; ".join(f"{each.architecture}: {each.reason}" for each in found)


def _header(audit: ImageAudit, group_by: str) -> list[str]:
    return [*([group_by] if group_by else []), "image", *map(str, audit.architectures), "reason"]


def _cells(row: ImageRow, value: str, group_by: str) -> list[str]:
    return [*([value] if group_by else []), row.image, *(str(each.verdict) for each in row.judgements), reasons(row)]


def _users(row: ImageRow) -> list[str]:
    return sorted({str(use.workload) for use in row.uses})


def _namespaces(row: ImageRow) -> list[str]:
    return sorted({use.workload.namespace for use in row.uses})


def as_csv(audit: ImageAudit, group_by: str = "") -> str:
    """A row per image, and per group if grouped; several users are separated by blanks. Lines end with CRLF.

    A cell that a spreadsheet would compute is made text by an apostrophe.
    Source: https://www.rfc-editor.org/rfc/rfc4180
    """
    rows = [
        [*_cells(row, value, group_by), " ".join(_users(row)), " ".join(_namespaces(row))]
        for value, rows in groups(audit, group_by)
        for row in rows
    ]
    return csv_text([*_header(audit, group_by), "workloads", "namespaces"], rows)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A CSV file's text; a cell that a spreadsheet would compute is made text."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    for row in rows:
        writer.writerow([f"'{cell}" if cell[:1] in {"=", "+", "-", "@"} else cell for cell in row])
    return text.getvalue()


def as_markdown(audit: ImageAudit, group_by: str = "") -> str:
    """A table for a merge request; bars and line breaks in cells are escaped."""
    header = [*_header(audit, group_by), "used by", "namespaces"]
    lines = [markdown_row(header), markdown_row(["---"] * len(header))]
    for value, rows in groups(audit, group_by):
        lines += [
            markdown_row([*_cells(row, value, group_by), _some(_users(row)), ", ".join(_namespaces(row))])
            for row in rows
        ]
    return "".join(f"{line}\n" for line in lines)


def markdown_row(cells: Iterable[str]) -> str:
    """A row of a Markdown table."""
    escaped = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_USERS
    return ", ".join(names[:_SHOWN_USERS]) + (f" and {more} more" if more > 0 else "")


def _show_tables(audit: ImageAudit, group_by: str) -> None:
    columns = ("IMAGE", *(str(each).upper() for each in audit.architectures), "WHY", "USED BY", "NAMESPACES")
    for number, (value, rows) in enumerate(groups(audit, group_by)):
        if group_by:
            typer.echo(f"{chr(10) if number else ''}{group_by}={value}" if value else f"{chr(10)}without {group_by}")
        print_table(columns, [(*_cells(row, "", ""), _some(_users(row)), ", ".join(_namespaces(row))) for row in rows])


def as_sarif(audit: ImageAudit) -> dict[str, object]:
    """A SARIF 2.1.0 log: a result per image and architecture that is not supported, at every place that uses it.

    Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
    """
    results = [
        _sarif_result(row, judgement)
        for row in audit.rows
        for judgement in row.judgements
        if judgement.verdict is not Verdict.SUPPORTED
    ]
    rules = [
        {"id": rule, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for rule, level, text in _RULES.values()
    ]
    driver = {"name": "multiarch", "version": __version__, "rules": rules}
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _sarif_result(row: ImageRow, judgement: Judgement) -> dict[str, object]:
    rule, level, _ = _RULES[judgement.verdict]
    return {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(judgement.verdict),
        "level": level,
        "message": {"text": f"{row.image} on {judgement.architecture}: {judgement.reason}"},
        "locations": [_sarif_location(use) for use in row.uses],
        # The same image and architecture is the same finding, wherever its line goes.
        "partialFingerprints": {"imageAndArchitecture/v1": f"{row.image} {judgement.architecture}"},
    }


def _sarif_location(use: ImageUse) -> dict[str, object]:
    workload = use.workload
    location: dict[str, object] = {
        "logicalLocations": [
            {
                "name": use.container,
                "fullyQualifiedName": f"{workload.namespace}/{workload.kind}/{workload.name}/{use.container}",
                "kind": "resource",
            }
        ]
    }
    if use.location is not None:
        location["physicalLocation"] = _sarif_place(use.location)
    return location


def _sarif_place(place: FileLine) -> dict[str, object]:
    from urllib.parse import quote

    return {"artifactLocation": {"uri": quote(place.file)}, "region": {"startLine": place.line}}
