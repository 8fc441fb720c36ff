"""What the nodes cost in a month, and what arm64 would save."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from multiarch.cost.chart import Bar, build_bars
from multiarch.cost.model import CostLine, CostReport
from multiarch.prices.amounts import sum_known
from multiarch.prices.model import Amount, UnknownPrice
from multiarch.report.model import BarChart, ChartBar, ChartPiece, PageCell, PageSection, PageTable, Status
from multiarch.report.sections.cells import format_number, get_status, make_amount_cell, make_architecture_cell
from multiarch.report.sections.nodes import OTHER_NODES, get_label

IDENTIFIER, TITLE = "cost", "Cost per month"
_SHOWN = 5
"""Reasons for unknown amounts that are shown at once; the others are among the notes."""


def build_cost_section(report: CostReport) -> PageSection:
    """Return costs per month by group, and savings of blocked workloads."""
    fetched = (
        (f"Prices of {report.prices_fetched_at:%Y-%m-%d %H:%M} UTC, in {report.currency}.",)
        if report.prices_fetched_at
        else ()
    )
    return PageSection(
        IDENTIFIER,
        TITLE,
        summary=" ".join((*fetched, *_fallback(report))),
        charts=tuple(_charts(report)),
        tables=tuple(_tables(report)),
        warnings=tuple(f"Unknown: {reason}." for reason in report.unknown[:_SHOWN]),
        notes=(*report.notes, *(f"Unknown: {reason}." for reason in report.unknown[_SHOWN:])),
    )


def _unit(report: CostReport) -> str:
    return f"{report.currency} per month".lstrip()


def _fallback(report: CostReport) -> Iterator[str]:
    if isinstance(report.fallback, Decimal) and report.fallback:
        compared = "less" if report.fallback < 0 else "more"
        yield f"Pods on amd64 nodes that may run on arm64 cost {abs(report.fallback):,.2f} {compared}."
    elif isinstance(report.fallback, UnknownPrice):
        yield f"What pods on amd64 nodes that may run on arm64 cost more is unknown: {report.fallback.reason}."


def _tables(report: CostReport) -> Iterator[PageTable]:
    names = ("group", "architecture", "capacity", "type", "nodes", "now", "group at most")
    at_most = dict(report.at_maximum_size)
    yield PageTable(
        f"Nodes ({_unit(report)})",
        names,
        [list(_line(line, at_most.get(line.group))) for line in report.nodes],
        names[4:],
    )
    if report.others:
        yield PageTable(
            f"Beside the nodes ({_unit(report)})",
            ("what", "now"),
            [(PageCell(name), make_amount_cell(amount)) for name, amount in report.others],
            {"now"},
        )
    if report.savings:
        yield PageTable(
            f"What workloads would save on arm64 ({_unit(report)})",
            ("workload", "saving", "what keeps it off arm64"),
            [
                (
                    PageCell(f"{each.namespace} {each.workload}"),
                    make_amount_cell(each.monthly),
                    PageCell("; ".join(each.blockers)),
                )
                for each in report.savings
            ],
            {"saving"},
        )


def _line(line: CostLine, at_most: Amount | None) -> Iterator[PageCell]:
    yield PageCell(line.group or "no group of the stack")
    yield make_architecture_cell(line.architecture)
    yield PageCell(line.capacity_type or "unknown")
    yield PageCell(" or ".join(line.instance_types) or "unknown")
    yield format_number(line.nodes)
    yield make_amount_cell(line.monthly)
    yield PageCell("") if at_most is None else make_amount_cell(at_most)


def _charts(report: CostReport) -> Iterator[BarChart]:
    groups: dict[str, list[CostLine]] = {}
    for line in report.nodes:
        groups.setdefault(line.group or OTHER_NODES, []).append(line)
    by_group = [_bar(name, lines) for name, lines in groups.items()]
    if any(bar.amount for bar in by_group):
        ordered = sorted(by_group, key=lambda bar: -bar.amount)
        yield BarChart(f"Nodes by group ({_unit(report)})", tuple(ordered))
    by_kind = [_of_kind(bar) for bar in build_bars(report)]
    if any(bar.amount for bar in by_kind):
        yield BarChart(f"Nodes by architecture, and the rest ({_unit(report)})", tuple(by_kind))


def _bar(group: str, lines: list[CostLine]) -> ChartBar:
    amounts: dict[tuple[str, Status], Decimal] = {}
    for line in lines:
        key = get_label(line.architecture, line.capacity_type), get_status(line.architecture, line.capacity_type)
        amounts[key] = amounts.get(key, Decimal(0)) + sum_known([line.monthly])
    pieces = tuple(
        ChartPiece(label, float(amount), status, f"{amount:,.2f}") for (label, status), amount in amounts.items()
    )
    whole = sum(amounts.values(), Decimal(0))
    if not any(isinstance(line.monthly, UnknownPrice) for line in lines):
        return ChartBar(group, pieces, f"{whole:,.2f}")
    return ChartBar(group, pieces, f"{whole:,.2f} and unknown" if whole else "unknown")


def _of_kind(bar: Bar) -> ChartBar:
    if isinstance(bar.monthly, UnknownPrice):
        return ChartBar(bar.label, (), "unknown")
    status = get_status(bar.architecture, bar.capacity_type) if bar.architecture else Status.UNKNOWN
    label = get_label(bar.architecture, bar.capacity_type) if bar.architecture else "other"
    text = f"{bar.monthly:,.2f}"
    return ChartBar(bar.label, (ChartPiece(label, float(bar.monthly), status, text),), f"{text} ({bar.share:.0%})")
