"""How an audit of DaemonSets looks: a matrix with the reasons below, Markdown, CSV, or the JSON of all commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from multiarch.audit.daemonset_model import Cell, Column, DaemonSetAudit, DaemonSetOutcome, DaemonSetRow
from multiarch.cli.audit.daemonsets import Format
from multiarch.cli.audit.image_formats import csv_text, markdown_row
from multiarch.cli.output import print_json, print_table

if TYPE_CHECKING:
    from multiarch.audit.daemonset_model import DaemonSet

WIDTH = 120
"""Characters that a table takes; a wider matrix is cut into several."""
_GAP, _MARGIN = 3, 2
"""Blanks between two columns, and on both sides of them all."""
_ONE_LINE = str.maketrans("\n", " ")


def show(audit: DaemonSetAudit, form: Format) -> None:
    """Print the audit."""
    if form is Format.JSON:
        print_json("daemonset-audit", as_json(audit))
    elif form is Format.CSV:
        typer.echo(as_csv(audit), nl=False)
    elif form is Format.MARKDOWN:
        typer.echo(as_markdown(audit), nl=False)
    else:
        _show_tables(audit)


def as_json(audit: DaemonSetAudit) -> dict[str, object]:
    """The document's content: see docs/reference/json-output.md."""
    return {
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "architecture": str(column.architecture),
                "nodes": column.nodes,
                "taints": [str(taint) for taint in column.taints],
                "groups": list(column.members),
            }
            for column in audit.columns
        ],
        "summary": {
            **{str(outcome): audit.count(outcome) for outcome in DaemonSetOutcome},
            "findings": audit.findings,
        },
        "daemonSets": [_row_as_json(audit, row) for row in audit.rows],
        "notes": list(audit.notes),
    }


def _row_as_json(audit: DaemonSetAudit, row: DaemonSetRow) -> dict[str, object]:
    daemon = row.daemon_set
    return {
        "namespace": daemon.namespace,
        "name": daemon.name,
        "addOn": daemon.add_on or None,
        "source": daemon.source or None,
        "cells": [
            {
                "column": column.name,
                "outcome": str(cell.outcome),
                "finding": cell.finding,
                "reasons": [
                    {"cause": str(each.cause), "text": each.text, "ofArchitecture": each.of_architecture}
                    for each in cell.reasons
                ],
            }
            for column, cell in zip(audit.columns, row.cells, strict=True)
        ],
    }


def as_csv(audit: DaemonSetAudit) -> str:
    """A row per DaemonSet and column; reasons are separated by semicolons. Lines end with CRLF."""
    header = ("namespace", "daemonset", "column", "architecture", "outcome", "finding", "reasons")
    rows = [
        (
            row.daemon_set.namespace,
            row.daemon_set.name,
            column.name,
            str(column.architecture),
            str(cell.outcome),
            "yes" if cell.finding else "no",
            "; ".join(each.text for each in cell.reasons),
        )
        for row in audit.rows
        for column, cell in zip(audit.columns, row.cells, strict=True)
    ]
    return csv_text(header, rows)


def as_markdown(audit: DaemonSetAudit) -> str:
    """The matrix as a table, and the reasons as a list below it."""
    header = ["DaemonSet", *(_head(column) for column in audit.columns)]
    lines = [markdown_row(header), markdown_row(["---"] * len(header))]
    lines += [markdown_row([str(row.daemon_set), *map(_mark, row.cells)]) for row in audit.rows]
    told = [(row.daemon_set, list(_told(audit.columns, row))) for row in audit.rows]
    for daemon, parts in told:
        if parts:
            lines += ["", f"**{daemon}**"]
            for names, cell in parts:
                lines += ["", f"{', '.join(names)}: {_verdict(cell)}", ""]
                lines += [f"- {_escaped(each.text)}" for each in cell.reasons]
    origins = [_origin(row.daemon_set) for row in audit.rows if row.daemon_set.add_on]
    lines += ["", "Not judged, or assumed:", "", *(f"- {_escaped(each)}" for each in (*audit.notes, *origins))]
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    """A text that Markdown shows as it is."""
    return "".join(f"\\{each}" if each in "\\`*_{}[]<>#|" else each for each in text.translate(_ONE_LINE))


def _head(column: Column) -> str:
    """The column's name, with its architecture unless that is the name or stands in it."""
    architecture = str(column.architecture)
    return column.name if architecture in column.name else f"{column.name} ({architecture})"


def _mark(cell: Cell) -> str:
    return str(cell.outcome).upper() if cell.outcome is DaemonSetOutcome.FAILS else str(cell.outcome)


def _verdict(cell: Cell) -> str:
    return f"{_mark(cell)}{' (finding)' if cell.finding else ''}"


def _told(columns: Sequence[Column], row: DaemonSetRow) -> Iterator[tuple[list[str], Cell]]:
    """Cells with something to say, those that say the same together."""
    alike: dict[Cell, list[str]] = {}
    for column, cell in zip(columns, row.cells, strict=True):
        if cell.reasons:
            alike.setdefault(cell, []).append(column.name)
    for cell, names in alike.items():
        yield ["everywhere"] if len(names) == len(columns) > 1 else names, cell


def _show_tables(audit: DaemonSetAudit) -> None:
    first = ["DAEMONSET", *(str(row.daemon_set) for row in audit.rows)]
    columns = [
        [_head(column), *(_mark(row.cells[at]) for row in audit.rows)] for at, column in enumerate(audit.columns)
    ]
    for number, block in enumerate(_blocks(first, columns)):
        if number:
            typer.echo()
        head, *rows = zip(*block, strict=True)
        print_table(head, rows)
    for row in audit.rows:
        told = list(_told(audit.columns, row))
        if told:
            typer.echo(f"\n{row.daemon_set}")
        for names, cell in told:
            typer.echo(f"  {', '.join(names)}: {_verdict(cell)}")
            for reason in cell.reasons:
                typer.echo(f"    {reason.text.translate(_ONE_LINE)}")
    typer.echo("\nColumns")
    print_table(("NAME", "KIND", "ARCHITECTURE", "NODES", "TAINTS"), [_legend(column) for column in audit.columns])
    typer.echo("\nNot judged, or assumed")
    for note in audit.notes:
        typer.echo(f"- {note}")
    for row in audit.rows:
        if row.daemon_set.add_on:
            typer.echo(f"- {_origin(row.daemon_set)}")


def _origin(daemon: DaemonSet) -> str:
    source = f", as in {daemon.source}" if daemon.source else ""
    return f"{daemon} is of the add-on {daemon.add_on}{source}"


def _legend(column: Column) -> tuple[str, ...]:
    nodes = "planned" if column.nodes is None else str(column.nodes)
    return column.name, column.kind, str(column.architecture), nodes, ", ".join(map(str, column.taints))


def _blocks(first: Sequence[str], columns: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Columns in as many tables as it takes, each with the first one and no wider than :data:`WIDTH` if that can be."""
    block: list[Sequence[str]] = [first]
    width = _MARGIN + _width(first)
    for column in columns:
        if len(block) > 1 and width + _GAP + _width(column) > WIDTH:
            yield block
            block, width = [first], _MARGIN + _width(first)
        block.append(column)
        width += _GAP + _width(column)
    yield block


def _width(column: Sequence[str]) -> int:
    return max(len(cell) for cell in column)
