"""Which workloads are ready for arm64 nodes, and the images that block the others."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.audit.workloads import ImageBlocker, WorkloadAudit, WorkloadRow, WorkloadState
from multiarch.report.model import PageCell, PageSection, PageTable, Status
from multiarch.report.sections.cells import counted, format_number

IDENTIFIER, TITLE = "images", "Ready for arm64"
STATUSES = {
    WorkloadState.READY: Status.GOOD,
    WorkloadState.THERE: Status.ARM64,
    WorkloadState.BLOCKED: Status.BAD,
    WorkloadState.UNKNOWN: Status.UNKNOWN,
}


def build_images_section(audit: WorkloadAudit) -> PageSection:
    """Return images that block workloads, and the next step of every workload."""
    states = ", ".join(f"{audit.count(state)} {state}" for state in WorkloadState)
    notes = []
    if audit.omitted:
        notes.append(f"{counted(audit.omitted, 'DaemonSet')} of the system: see DaemonSets.")
    return PageSection(
        IDENTIFIER,
        TITLE,
        summary=f"{counted(len(audit.rows), 'workload')}: {states}.",
        tables=(_images(audit), _workloads(audit)),
        notes=tuple(notes),
    )


def _images(audit: WorkloadAudit) -> PageTable:
    """Return one row per image and reason, the one that blocks the most pods first."""
    users: dict[tuple[str, str], list[tuple[WorkloadRow, ImageBlocker]]] = {}
    for row in audit.rows:
        for each in row.images:
            users.setdefault((each.image, each.reason), []).append((row, each))
    rows = [_image(*key, found) for key, found in users.items()]
    return PageTable(
        "Images without arm64",
        ("image", "pods", "reason", "next step", "used by"),
        sorted(rows, key=lambda row: (-(row[1].order or 0), row[0].text)),
        {"pods"},
    )


def _image(image: str, reason: str, found: list[tuple[WorkloadRow, ImageBlocker]]) -> tuple[PageCell, ...]:
    used = sorted(f"{row.workload.namespace} {row.workload}" for row, _ in found)
    return (
        PageCell(image),
        format_number(sum(row.subject.pods for row, _ in found)),
        PageCell(reason),
        PageCell(found[0][1].step),
        PageCell(", ".join(used)) if len(used) == 1 else PageCell(counted(len(used), "workload"), details=tuple(used)),
    )


def _workloads(audit: WorkloadAudit) -> PageTable:
    order = {state: place for place, state in enumerate(_WORST_FIRST)}
    rows = sorted(audit.rows, key=lambda row: (order[row.state], -row.subject.pods, row.workload))
    return PageTable(
        "Next step of each workload",
        ("workload", "namespace", "state", "pods", "next step"),
        [list(_workload(audit, row)) for row in rows],
        {"pods"},
    )


_WORST_FIRST = (WorkloadState.BLOCKED, WorkloadState.UNKNOWN, WorkloadState.READY, WorkloadState.THERE)


def _workload(audit: WorkloadAudit, row: WorkloadRow) -> Iterator[PageCell]:
    yield PageCell(str(row.workload))
    yield PageCell(row.workload.namespace)
    yield PageCell(row.state, status=STATUSES[row.state])
    yield format_number(row.subject.pods)
    yield PageCell("; ".join([*row.steps(audit.taint), *row.notes]))
