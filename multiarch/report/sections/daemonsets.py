"""The matrix of DaemonSets and node groups."""

from __future__ import annotations

from multiarch.audit.daemonset_model import Cell, DaemonSetAudit, DaemonSetOutcome
from multiarch.report.model import PageCell, PageSection, PageTable, Status
from multiarch.report.sections.cells import counted, format_number, make_architecture_cell

IDENTIFIER, TITLE = "daemonsets", "DaemonSets"
_STATUSES = {
    DaemonSetOutcome.FAILS: Status.BAD,
    DaemonSetOutcome.KEPT_OFF: Status.WARNING,
    DaemonSetOutcome.UNKNOWN: Status.UNKNOWN,
    DaemonSetOutcome.RUNS: Status.GOOD,
    DaemonSetOutcome.EXCLUDED: Status.PLAIN,
}


def build_daemonsets_section(audit: DaemonSetAudit) -> PageSection:
    """Return the matrix, with the reasons behind each cell, and what its columns are."""
    outcomes = ", ".join(f"{audit.count(outcome)} {outcome}" for outcome in DaemonSetOutcome)
    rows = tuple((PageCell(str(row.daemon_set)), *map(_cell, row.cells)) for row in audit.rows)
    columns = ("DaemonSet", *(column.title for column in audit.columns))
    matrix = PageTable("Where each DaemonSet runs", columns, rows, matrix=True)
    return PageSection(
        IDENTIFIER,
        TITLE,
        summary=f"{counted(audit.findings, 'finding')}. Cells: {outcomes}.",
        tables=(matrix, _legend(audit)),
        notes=audit.notes,
    )


def _cell(cell: Cell) -> PageCell:
    finding = ("This is a finding.",) if cell.finding else ()
    reasons = tuple(each.text for each in cell.reasons)
    order = list(DaemonSetOutcome).index(cell.outcome)
    return PageCell(str(cell.outcome), order, _STATUSES[cell.outcome], (*finding, *reasons))


def _legend(audit: DaemonSetAudit) -> PageTable:
    names = ("group", "kind", "architecture", "nodes", "taints")
    rows = tuple(
        (
            PageCell(column.name),
            PageCell(column.kind),
            make_architecture_cell(column.architecture),
            PageCell("planned") if column.nodes is None else format_number(column.nodes),
            PageCell(", ".join(map(str, column.taints))),
        )
        for column in audit.columns
    )
    return PageTable("Columns", names, rows, {"nodes"})
