"""The report of ``multiarch audit workloads``."""

from __future__ import annotations

import json
import shlex
from functools import partial

from multiarch.audit.subjects import ArchitecturePreference
from multiarch.audit.workloads import Patch, WorkloadAudit, WorkloadRow, WorkloadState
from multiarch.cli.formats.report import Report, make_grouped_table
from multiarch.facts.taints import Taint
from multiarch.files import STANDARD_INPUT, STANDARD_INPUT_NAME
from multiarch.observed.objects import ObjectSource
from multiarch.runs.audits import WorkloadsAudit
from multiarch.serialization import to_json

_COLUMNS = ("workload", "namespace", "state", "pods", "next step")


def build_workload_report(found: WorkloadsAudit, source: ObjectSource, group_by: str) -> Report:
    """Return the report. ``group_by`` is a label of workloads; rows are grouped by its value."""
    groups = partial(_groups, found.audit, group_by)
    return Report(
        "workload-audit",
        data=partial(_data, found, source, group_by),
        blocks=lambda: [make_grouped_table(group_by, groups(), _COLUMNS, partial(_cells, found.audit))],
    )


def _groups(audit: WorkloadAudit, label: str) -> list[tuple[str, list[WorkloadRow]]]:
    """Return the rows by their value for ``label``, empty if they have none. Without a label: one group."""
    if not label:
        return [("", list(audit.rows))]
    found: dict[str, list[WorkloadRow]] = {}
    for row in audit.rows:
        found.setdefault(row.subject.labels.get(label, ""), []).append(row)
    return sorted(found.items())


def _data(found: WorkloadsAudit, source: ObjectSource, group_by: str) -> dict[str, object]:
    audit = found.audit
    return {
        "taint": audit.taint,
        "summary": {str(state): audit.count(state) for state in WorkloadState},
        "pods": {str(state): audit.pods(state) for state in WorkloadState},
        "omitted": audit.omitted,
        "groupedBy": group_by or None,
        "workloads": [
            {**({"group": value} if group_by else {}), **_row_data(audit, row, source)}
            for value, rows in _groups(audit, group_by)
            for row in rows
        ],
        **found.not_read.to_json(),
    }


def _row_data(audit: WorkloadAudit, row: WorkloadRow, source: ObjectSource) -> dict[str, object]:
    places = [use.location for use in row.subject.uses if use.location is not None]
    patch = row.patch or Patch(None)
    return {
        **to_json(row.workload),
        "state": row.state,
        "pods": row.subject.pods,
        "blockers": {"images": row.images, "affinity": row.affinity},
        "doubts": row.doubts,
        "tolerates": row.tolerates,
        "preference": row.preference,
        "notes": row.notes,
        "steps": row.steps(audit.taint),
        "command": get_next_command(row, source, audit.taint),
        "patch": patch.body,
        "noPatch": patch.why or None,
        "file": places[0].file if places else None,
        "line": min((each.line for each in places if each.file == places[0].file), default=None),
    }


def get_next_command(row: WorkloadRow, source: ObjectSource, taint: Taint | None) -> str | None:
    """Return the command that adds the toleration to a ready workload, quoted for a shell; None without a patch."""
    if row.patch is None or row.patch.body is None:
        return None
    key = row.workload
    if source.files:
        named = dict.fromkeys(each.source.where for each in row.subject.manifests)
        files = [STANDARD_INPUT if name == STANDARD_INPUT_NAME else name for name in named]
        words = ["multiarch", "workload", "patch", *(word for file in files for word in ("--manifests", file))]
        words += ["--tolerate", "arm64", "--taint", str(taint)]
        words += ["--kind", key.kind, "--namespace", key.namespace, "--name", key.name]
        return shlex.join(words if STANDARD_INPUT in files else [*words, "--in-place"])
    words = ["kubectl", *(["--kubeconfig", str(source.access.kubeconfig)] if source.access.kubeconfig else [])]
    words += ["--context", source.access.context] if source.access.context else []
    words += ["patch", key.kind.lower(), key.name, "--namespace", key.namespace]
    # Kind, name and namespace are arguments.
    change = json.dumps({"spec": row.patch.body["spec"]}, separators=(",", ":"))
    return shlex.join([*words, "--type", "strategic", "--patch", change])


def _cells(audit: WorkloadAudit, row: WorkloadRow) -> list[str]:
    return [
        str(row.workload),
        row.workload.namespace,
        _state(row),
        str(row.subject.pods),
        "; ".join([*row.steps(audit.taint), *row.notes]),
    ]


def _state(row: WorkloadRow) -> str:
    """Return the state, with what blocks the workload, or with its preference."""
    if row.state is WorkloadState.BLOCKED:
        kinds = [kind for kind, there in (("image", row.images), ("affinity", row.affinity)) if there]
        return f"blocked by {' and '.join(kinds)}"
    if row.state is WorkloadState.THERE and row.preference is not ArchitecturePreference.NONE:
        return f"{row.state}, {row.preference}"
    return str(row.state)
