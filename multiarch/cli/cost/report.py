"""What a person and a program read of costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from multiarch.cli.amounts import as_json, shown
from multiarch.cli.formats.report import Block, Items, Report, Table
from multiarch.plurals import counted
from multiarch.prices.model import UnknownPrice

if TYPE_CHECKING:
    from multiarch.cost.chart import Bar
    from multiarch.cost.model import CostLine, CostReport, Saving

_BAR = 24
"""Characters of the longest bar."""
NOT_REQUESTED = "(requested by no pod, or by DaemonSets)"
_RECORD = ("stack", "team", "what", "architecture", "capacity type", "types", "nodes", "per month", "currency")


def report(reports: Sequence[CostReport]) -> Report:
    """The report of one or more stacks."""
    return Report(
        "cost",
        data=lambda: {"stacks": [_data(each) for each in reports], "teams": list(map(_team_data, _teams(reports)))},
        blocks=lambda: _blocks(reports),
        records=lambda: _records(reports),
    )


def _blocks(reports: Sequence[CostReport]) -> Iterator[Block]:
    for each in reports:
        yield from _stack(each)
    if len(reports) > 1:
        rows = [(each.name, known_part(each.known, each.currency, complete=each.complete)) for each in _teams(reports)]
        yield Table(("team", "cost"), rows, "By team")


def _stack(found: CostReport) -> Iterator[Block]:
    yield head(found)
    most = dict(found.at_most)
    last = {line.group: number for number, line in enumerate(found.lines)}
    rows = [
        (
            line.group or "(no group of the stack)",
            line.capacity,
            _types(line),
            str(line.nodes),
            shown(line.monthly),
            shown(most[line.group]) if line.group in most and last[line.group] == number else "",
        )
        for number, line in enumerate(found.lines)
    ]
    # Groups without a node cost nothing now, but up to their maximum size they may.
    rows += [
        (group, "", "", "0", shown(Decimal(0)), shown(amount)) for group, amount in most.items() if group not in last
    ]
    rows += [(what, "", "", "", shown(amount), "") for what, amount in found.others]
    yield Table(("what", "capacity", "instance type", "nodes", "per month", "at maximum size"), rows)
    yield from chart(found)
    yield from _by_label(found)
    yield from _arm64(found)
    if found.unknown:
        yield Items("Unknown", [f"{reason}." for reason in found.unknown])
    yield Items("How costs are computed", found.notes)


def head(found: CostReport) -> str:
    """``payments-prod: 1,234.50 USD per month``."""
    return f"{found.stack}: {known_part(found.total, found.currency, complete=found.complete)}"


def known_part(known: Decimal, currency: str, *, complete: bool) -> str:
    """``1,234.50 USD per month``, with ``plus unknown costs`` if that is not all."""
    if complete:
        return f"{known:,.2f} {currency} per month"
    return f"{known:,.2f} {currency} per month, plus unknown costs" if known else "unknown"


def chart(found: CostReport) -> Iterator[Table]:
    """A bar for each kind of nodes and each other cost; nothing where all are unknown."""
    from multiarch.cost.chart import bars

    drawn = [each for each in bars(found) if each.length]
    if drawn:
        rows = [(each.label, shown(each.monthly), f"{each.share:.0%}", _drawn(each)) for each in drawn]
        yield Table(("", found.currency, "share", ""), rows, "By architecture and capacity type")


def _drawn(bar: Bar) -> str:
    from rich.bar import Bar as RichBar
    from rich.console import Console

    console = Console(width=_BAR, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(RichBar(1, 0, bar.length, width=_BAR, color="default"), end="")
    return captured.get().strip() or "▏"


def _by_label(found: CostReport) -> Iterator[Table]:
    if found.by_label:
        rows = [
            (NOT_REQUESTED if each.value is None else each.value or f"(without {found.label})",
             "" if each.value is None else str(each.pods), shown(each.monthly))
            for each in found.by_label
        ]  # fmt: skip
        yield Table((found.label, "pods", "per month"), rows, f"Pods by {found.label}: their shares of their nodes")


def _arm64(found: CostReport) -> Iterator[Block]:
    if isinstance(found.fallback, UnknownPrice):
        yield "Pods that may run on arm64 but are on amd64 nodes cost an unknown amount more."
    elif found.fallback == 0:
        yield "No pod on an amd64 node is known to run on arm64."
    elif found.fallback is not None:
        compared = "less" if found.fallback < 0 else "more"
        yield (
            f"Pods that may run on arm64 but are on amd64 nodes cost {shown(abs(found.fallback))} {found.currency} "
            f"{compared} per month than on arm64."
        )
    if found.savings:
        yield Table(
            ("workload", "pods", "saves per month", "not on arm64 because"),
            [_saving(each) for each in found.savings],
            f"Workloads that can't run on arm64 yet ({found.currency})",
        )


def _saving(each: Saving) -> tuple[str, ...]:
    return f"{each.namespace} {each.workload}", str(each.pods), shown(each.monthly), "; ".join(each.blockers)


def _types(line: CostLine) -> str:
    if len(line.instance_types) > 1:
        return f"{line.instance_types[0]} or {counted(len(line.instance_types) - 1, 'other')}"
    return line.instance_types[0] if line.instance_types else "unknown"


def _records(reports: Sequence[CostReport]) -> Table:
    rows = [
        (
            found.stack,
            found.team,
            line.group,
            str(line.architecture),
            str(line.capacity_type or "unknown"),
            "; ".join(line.instance_types),
            str(line.nodes),
            as_json(line.monthly) or "unknown",
            found.currency,
        )
        for found in reports
        for line in found.lines
    ]
    rows += [
        (found.stack, found.team, what, "", "", "", "", as_json(amount) or "unknown", found.currency)
        for found in reports
        for what, amount in found.others
    ]
    return Table(_RECORD, rows)


@dataclass(frozen=True, slots=True)
class _Team:
    """What the stacks of a team cost, as far as it is known."""

    name: str
    currency: str
    known: Decimal
    complete: bool


def _teams(reports: Sequence[CostReport]) -> Iterator[_Team]:
    for name, currency in sorted({(each.team, each.currency) for each in reports}):
        own = [each for each in reports if (each.team, each.currency) == (name, currency)]
        yield _Team(name, currency, sum((each.total for each in own), Decimal(0)), all(each.complete for each in own))


def _team_data(team: _Team) -> dict[str, object]:
    return {
        "team": team.name,
        "currency": team.currency or None,
        "monthly": as_json(team.known),
        "complete": team.complete,
    }


def _data(found: CostReport) -> dict[str, object]:
    return {
        "stack": found.stack,
        "team": found.team,
        "currency": found.currency or None,
        "pricesFetchedAt": None if found.prices is None else f"{found.prices:%Y-%m-%dT%H:%M:%SZ}",
        "monthly": as_json(found.total),
        "complete": found.complete,
        "nodes": [
            {
                "group": line.group or None,
                "architecture": line.architecture,
                "capacityType": line.capacity_type,
                "instanceTypes": list(line.instance_types),
                "nodes": line.nodes,
                "monthly": as_json(line.monthly),
            }
            for line in found.lines
        ],
        "others": [{"what": what, "monthly": as_json(amount)} for what, amount in found.others],
        "atMaximumSize": [{"group": group, "monthly": as_json(amount)} for group, amount in found.at_most],
        "fallback": None if found.fallback is None else as_json(found.fallback),
        "savings": [
            {
                "namespace": each.namespace,
                "workload": each.workload,
                "pods": each.pods,
                "blockers": list(each.blockers),
                "monthly": as_json(each.monthly),
            }
            for each in found.savings
        ],
        "label": found.label or None,
        "byLabel": [
            {"value": each.value, "pods": each.pods, "monthly": as_json(each.monthly)} for each in found.by_label
        ],
        "unknown": list(found.unknown),
        "notes": list(found.notes),
    }
