"""The report of ``multiarch audit workloads``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from multiarch.audit.subjects import ArchitecturePreference
from multiarch.audit.workloads import WorkloadAudit, WorkloadRow, WorkloadState
from multiarch.cli.audit.sources import not_read_data
from multiarch.cli.formats.report import Report, Table, grouped

if TYPE_CHECKING:
    from multiarch.audit.newer import Newest
    from multiarch.audit.uses import NotRead
    from multiarch.cli.audit.next_command import Commands

_COLUMNS = ("workload", "namespace", "state", "pods", "next step")
_RECORD_COLUMNS = ("workload", "namespace", "state", "pods", "tolerates", "preference", "blocked by", "next step")


def workload_report(audit: WorkloadAudit, commands: Commands, group_by: str, not_read: NotRead) -> Report:
    """The report. ``group_by`` is a label of workloads; rows are grouped by its value."""
    return Report(
        "workload-audit",
        data=partial(_data, audit, commands, group_by, not_read),
        blocks=lambda: [_table(audit, group_by, _COLUMNS, _cells)],
        records=partial(_table, audit, group_by, _RECORD_COLUMNS, _record),
    )


def _groups(audit: WorkloadAudit, label: str) -> list[tuple[str, list[WorkloadRow]]]:
    """The rows by their value for ``label``, empty if they have none. Without a label: one group."""
    if not label:
        return [("", list(audit.rows))]
    found: dict[str, list[WorkloadRow]] = {}
    for row in audit.rows:
        found.setdefault(row.subject.labels.get(label, ""), []).append(row)
    return sorted(found.items())


def _data(audit: WorkloadAudit, commands: Commands, group_by: str, not_read: NotRead) -> dict[str, object]:
    return {
        "taint": None if audit.taint is None else str(audit.taint),
        "summary": {str(state): audit.count(state) for state in WorkloadState},
        "pods": {str(state): audit.pods(state) for state in WorkloadState},
        "leftOut": audit.left_out,
        "groupedBy": group_by or None,
        "workloads": [
            {**({"group": value} if group_by else {}), **_row_data(audit, row, commands)}
            for value, rows in _groups(audit, group_by)
            for row in rows
        ],
        **not_read_data(not_read),
    }


def _row_data(audit: WorkloadAudit, row: WorkloadRow, commands: Commands) -> dict[str, object]:
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
                    "newest": _newest_data(each.newest),
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


def _newest_data(newest: Newest) -> dict[str, object]:
    return {"image": newest.image, "why": newest.why, "lookedUp": newest.tried}


def _table(
    audit: WorkloadAudit,
    group_by: str,
    columns: Sequence[str],
    cells: Callable[[WorkloadAudit, WorkloadRow], Sequence[str]],
) -> Table:
    rows = [grouped(group_by, value, cells(audit, row)) for value, rows in _groups(audit, group_by) for row in rows]
    return Table(grouped(group_by, group_by, columns), rows, grouped=bool(group_by))


def _record(audit: WorkloadAudit, row: WorkloadRow) -> list[str]:
    """A row for CSV; several values in a cell are separated by semicolons."""
    return [
        str(row.workload),
        row.workload.namespace,
        str(row.state),
        str(row.subject.pods),
        "yes" if row.tolerates else "no",
        str(row.preference),
        "; ".join(row.blockers),
        "; ".join(row.steps(audit.taint)),
    ]


def _cells(audit: WorkloadAudit, row: WorkloadRow) -> list[str]:
    return [
        str(row.workload),
        row.workload.namespace,
        _state(row),
        str(row.subject.pods),
        "; ".join([*row.steps(audit.taint), *row.notes]),
    ]


def _state(row: WorkloadRow) -> str:
    """The state, with what blocks the workload, or with its preference."""
    if row.state is WorkloadState.BLOCKED:
        kinds = [kind for kind, there in (("image", row.images), ("affinity", row.affinity)) if there]
        return f"blocked by {' and '.join(kinds)}"
    if row.state is WorkloadState.THERE and row.preference is not ArchitecturePreference.NONE:
        return f"{row.state}, {row.preference}"
    return str(row.state)
