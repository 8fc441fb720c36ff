"""The report of ``multiarch audit daemonsets``: a matrix, and the reasons for its cells."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from multiarch.audit.daemonset_model import Cell, DaemonSet, DaemonSetAudit, DaemonSetOutcome, DaemonSetRow, NodeSet
from multiarch.cli.formats.report import Block, Details, Items, Report, Table
from multiarch.serialization import to_json


def build_daemonset_report(audit: DaemonSetAudit) -> Report:
    """Return the report."""
    return Report("daemonset-audit", data=partial(_data, audit), blocks=partial(_blocks, audit))


def _data(audit: DaemonSetAudit) -> dict[str, object]:
    return {
        "columns": audit.columns,
        "summary": {**{str(outcome): audit.count(outcome) for outcome in DaemonSetOutcome}, "findings": audit.findings},
        "daemonSets": [
            {
                "namespace": row.daemon_set.namespace,
                "name": row.daemon_set.name,
                "addOn": row.daemon_set.add_on or None,
                "source": row.daemon_set.source or None,
                "cells": [
                    {"column": column.name, **to_json(cell)}
                    for column, cell in zip(audit.columns, row.cells, strict=True)
                ],
            }
            for row in audit.rows
        ],
        "notes": audit.notes,
    }


def _blocks(audit: DaemonSetAudit) -> Iterator[Block]:
    rows = [[str(row.daemon_set), *map(_mark, row.cells)] for row in audit.rows]
    titles = [f"{number} {column.title}" for number, column in enumerate(audit.columns, start=1)]
    yield Table(["DaemonSet", *titles], rows, matrix=True)
    for row in audit.rows:
        if any(cell.reasons for cell in row.cells):
            yield Details(str(row.daemon_set), list(_statements(audit, row)))
    legend = [_legend(number, column) for number, column in enumerate(audit.columns, start=1)]
    yield Table(("name", "kind", "nodes", "taints"), legend, "Columns")
    origins = [_origin(row.daemon_set) for row in audit.rows if row.daemon_set.add_on or row.daemon_set.source]
    yield Items("Not judged, or assumed", [*audit.notes, *origins])


def _mark(cell: Cell) -> str:
    return str(cell.outcome).upper() if cell.outcome is DaemonSetOutcome.FAILS else str(cell.outcome)


def _statements(audit: DaemonSetAudit, row: DaemonSetRow) -> Iterator[tuple[str, list[str]]]:
    """Yield the cells that have reasons, equal ones together."""
    equal: dict[Cell, list[str]] = {}
    for column, cell in zip(audit.columns, row.cells, strict=True):
        if cell.reasons:
            equal.setdefault(cell, []).append(column.name)
    for cell, names in equal.items():
        where = "everywhere" if len(names) == len(audit.columns) > 1 else ", ".join(names)
        finding = " (finding)" if cell.finding else ""
        yield f"{where}: {_mark(cell)}{finding}", [each.text for each in cell.reasons]


def _origin(daemon: DaemonSet) -> str:
    source = f", according to {daemon.source}" if daemon.source else ""
    owner = f"belongs to the add-on {daemon.add_on}" if daemon.add_on else f"is installed by {daemon.installed_by}"
    return f"{daemon} {owner}{source}"


def _legend(number: int, column: NodeSet) -> tuple[str, ...]:
    nodes = "planned" if column.nodes is None else str(column.nodes)
    kind = f"{column.architecture} {column.kind}"
    return f"{number} {column.name}", kind, nodes, ", ".join(map(str, column.taints))
