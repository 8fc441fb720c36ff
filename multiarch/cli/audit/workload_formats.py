"""How an audit of workloads looks: a table, Markdown, CSV, or the JSON of all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from multiarch.audit.subjects import ArchitecturePreference
from multiarch.audit.workloads import WorkloadAudit, WorkloadRow, WorkloadState
from multiarch.cli.audit.image_formats import csv_text, markdown_row
from multiarch.cli.audit.workloads import Format
from multiarch.cli.output import print_json, print_table

if TYPE_CHECKING:
    from multiarch.audit.newer import Newest
    from multiarch.cli.audit.next_command import Commands

_COLUMNS = ("workload", "namespace", "state", "pods", "next step")


def show(audit: WorkloadAudit, form: Format, commands: Commands, *, group_by: str = "") -> None:
    """Print the audit; ``group_by`` is a label of workloads whose values make the groups."""
    if form is Format.JSON:
        print_json("workload-audit", as_json(audit, commands, group_by))
    elif form is Format.CSV:
        typer.echo(as_csv(audit, group_by), nl=False)
    elif form is Format.MARKDOWN:
        typer.echo(as_markdown(audit, group_by), nl=False)
    else:
        _show_tables(audit, group_by)


def groups(audit: WorkloadAudit, label: str) -> list[tuple[str, list[WorkloadRow]]]:
    """The rows by their value for ``label``, empty where they have none; without a label all rows are one group."""
    if not label:
        return [("", list(audit.rows))]
    found: dict[str, list[WorkloadRow]] = {}
    for row in audit.rows:
        found.setdefault(row.subject.labels.get(label, ""), []).append(row)
    return sorted(found.items())


def as_json(audit: WorkloadAudit, commands: Commands, group_by: str = "") -> dict[str, object]:
    """The document's content: see docs/reference/json-output.md."""
    return {
        "taint": None if audit.taint is None else str(audit.taint),
        "summary": {str(state): audit.count(state) for state in WorkloadState},
        "pods": {str(state): audit.pods(state) for state in WorkloadState},
        "leftOut": audit.left_out,
        "groupedBy": group_by or None,
        "workloads": [
            {**({"group": value} if group_by else {}), **_row_as_json(audit, row, commands)}
            for value, rows in groups(audit, group_by)
            for row in rows
        ],
    }


def _row_as_json(audit: WorkloadAudit, row: WorkloadRow, commands: Commands) -> dict[str, object]:
    places = [use.location for use in row.subject.uses if use.location is not None]
    return {
        "namespace": row.workload.namespace,
        "kind": row.workload.kind,
        "name": row.workload.name,
        "state": str(row.state),
        "pods": row.subject.pods,
        "blockers": {
            "images": [
                {
                    "image": each.image,
                    "reason": each.reason,
                    "containers": list(each.containers),
                    "newest": _newest_as_json(each.newest),
                }
                for each in row.images
            ],
            "affinity": list(row.affinity),
        },
        "doubts": list(row.doubts),
        "tolerates": row.tolerates,
        "preference": str(row.preference),
        "notes": list(row.notes),
        "steps": list(row.steps(audit.taint)),
        "command": commands.of(row),
        "patch": None if row.patch is None else row.patch.body,
        "noPatch": None if row.patch is None else row.patch.why or None,
        "file": places[0].file if places else None,
        "line": min((each.line for each in places if each.file == places[0].file), default=None),
    }


def _newest_as_json(newest: Newest) -> dict[str, object]:
    return {"image": newest.image, "why": newest.why, "lookedUp": newest.tried}


def as_csv(audit: WorkloadAudit, group_by: str = "") -> str:
    """A row per workload; what there are several of is separated by semicolons."""
    header = [*([group_by] if group_by else []), "workload", "namespace", "state", "pods", "tolerates", "preference"]
    rows = [
        [
            *([value] if group_by else []),
            str(row.workload),
            row.workload.namespace,
            str(row.state),
            str(row.subject.pods),
            "yes" if row.tolerates else "no",
            str(row.preference),
            "; ".join(row.blockers),
            "; ".join(row.steps(audit.taint)),
        ]
        for value, rows in groups(audit, group_by)
        for row in rows
    ]
    return csv_text([*header, "blocked by", "next step"], rows)


def as_markdown(audit: WorkloadAudit, group_by: str = "") -> str:
    """A table for a merge request."""
    header = [*([group_by] if group_by else []), *_COLUMNS]
    lines = [markdown_row(header), markdown_row(["---"] * len(header))]
    for value, rows in groups(audit, group_by):
        lines += [markdown_row([*([value] if group_by else []), *_cells(audit, row)]) for row in rows]
    return "".join(f"{line}\n" for line in lines)


def _cells(audit: WorkloadAudit, row: WorkloadRow) -> tuple[str, ...]:
    return (
        str(row.workload),
        row.workload.namespace,
        _state(row),
        str(row.subject.pods),
        "; ".join([*row.steps(audit.taint), *row.notes]),
    )


def _state(row: WorkloadRow) -> str:
    """The state, and by what; or what a workload that is there prefers."""
    if row.state is WorkloadState.BLOCKED:
        kinds = [kind for kind, there in (("image", row.images), ("affinity", row.affinity)) if there]
        return f"blocked by {' and '.join(kinds)}"
    if row.state is WorkloadState.THERE and row.preference is not ArchitecturePreference.NONE:
        return f"{row.state}, {row.preference}"
    return str(row.state)


def _show_tables(audit: WorkloadAudit, group_by: str) -> None:
    for number, (value, rows) in enumerate(groups(audit, group_by)):
        if group_by:
            typer.echo(f"{chr(10) if number else ''}{group_by}={value}" if value else f"{chr(10)}without {group_by}")
        print_table([column.upper() for column in _COLUMNS], [_cells(audit, row) for row in rows])
