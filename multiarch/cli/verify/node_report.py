"""The report of ``multiarch verify nodes``: a line per node, and what disagrees, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from multiarch.cli.formats.report import Block, Details, Items, Report, Table
from multiarch.plurals import format_count, join_names
from multiarch.rules import Finding, Severity
from multiarch.verify.nodes.model import NodeVerdict, NodeVerification

_SHOWN = 5
"""Nodes named in a line; the others are counted. JSON names all of them."""


def build_node_report(result: NodeVerification, stack: str | None) -> Report:
    """Return the report. ``stack`` is the stack's name, None for a cluster without one."""
    severities = result.counted()
    summary = {
        **{str(verdict): result.count(verdict) for verdict in NodeVerdict},
        "errors": severities[Severity.ERROR],
        "warnings": severities[Severity.WARNING],
    }
    return Report(
        "node-verification",
        data={
            "cluster": result.cluster,
            "stack": stack,
            "summary": summary,
            "nodes": result.rows,
            "findings": result.findings,
            "notes": result.notes,
        },
        blocks=partial(_blocks, result),
    )


def _blocks(result: NodeVerification) -> Iterator[Block]:
    if result.rows:
        shorten = _shortened(row.name for row in result.rows)
        rows = [
            (shorten[row.name], row.group, *_architecture_cells(row.architectures), str(row.verdict))
            for row in result.rows
        ]
        yield Table(("node", "group", "arch", "according to", "verdict"), rows)
    statements = list(_statements(result))
    if statements:
        yield Details("Findings", statements)
    unchecked = Counter[str]()
    names: dict[str, list[str]] = {}
    for row in result.rows:
        for text in row.not_checked:
            unchecked[text] += 1
            names.setdefault(text, []).append(row.name)
    items = [*result.notes, *(f"{join_names(names[text], _SHOWN)}: {text}" for text in unchecked)]
    if items:
        yield Items("Not checked", items)


def _shortened(names: Iterable[str]) -> Mapping[str, str]:
    """Return names of nodes up to their first dot, where that tells them apart."""
    names = list(names)
    heads = Counter(name.partition(".")[0] for name in names)
    return {name: head if heads[head := name.partition(".")[0]] == 1 else name for name in names}


def _architecture_cells(found: Mapping[str, str]) -> tuple[str, str]:
    """Return the architecture and the sources that say so; where they disagree, ``AMI amd64, others arm64``."""
    if not found:
        return "unknown", ""
    ((usual, _), *others) = Counter(found.values()).most_common()
    if not others:
        return usual, " ".join(found)
    different = [f"{source} {value}" for source, value in found.items() if value != usual]
    return "disagree", ", ".join((*different, f"others {usual}"))


def _statements(result: NodeVerification) -> Iterator[tuple[str, list[str]]]:
    """Yield equal findings of several nodes together, the worst first."""
    equal: dict[Finding, list[str]] = {each: [result.cluster] for each in result.findings}
    for row in result.rows:
        for each in row.findings:
            equal.setdefault(each, []).append(row.name)
    order = {severity: number for number, severity in enumerate(Severity)}
    for each in sorted(equal, key=lambda each: order[each.rule.severity]):
        severity, names = each.rule.severity, equal[each]
        mark = severity if len(names) == 1 else format_count(len(names), severity)
        text = f"{mark}: {join_names(names, _SHOWN)}: {each.text} [{each.rule.name}]"
        yield text, [*each.details, each.hint]
