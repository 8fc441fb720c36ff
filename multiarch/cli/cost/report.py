"""What a person and a program read of costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rich.bar import Bar as RichBar
from rich.console import Console

from multiarch.cli.formats.report import Block, Items, Report, Table
from multiarch.cli.lines import format_amount
from multiarch.cost.chart import Bar, build_bars
from multiarch.cost.model import CostLine, CostReport
from multiarch.plurals import format_count
from multiarch.prices.model import UnknownPrice

_BAR = 24
"""Characters of the longest bar."""
NOT_REQUESTED = "(requested by no pod, or by DaemonSets)"


def make_report(reports: Sequence[CostReport]) -> Report:
    """Return the report of one or more stacks."""
    return Report(
        "cost",
        data=lambda: {"stacks": reports, "teams": _teams(reports)},
        blocks=lambda: _blocks(reports),
    )


def _blocks(reports: Sequence[CostReport]) -> Iterator[Block]:
    for each in reports:
        yield from _stack(each)
    if len(reports) > 1:
        rows = [
            (each.team, format_known_part(each.monthly, each.currency, complete=each.complete))
            for each in _teams(reports)
        ]
        yield Table(("team", "cost"), rows, "By team")
    noted: dict[str, list[str]] = {}
    for each in reports:
        for note in each.notes:
            noted.setdefault(note, []).append(each.stack)
    of_all = {note for note, stacks in noted.items() if len(stacks) == len(reports)}
    notes = [note if note in of_all else f"{', '.join(stacks)}: {note}" for note, stacks in noted.items()]
    yield Items("How costs are computed", notes)


def _stack(found: CostReport) -> Iterator[Block]:
    yield f"{found.stack}: {format_known_part(found.monthly, found.currency, complete=found.complete)}"
    most = dict(found.at_maximum_size)
    last = {line.group: number for number, line in enumerate(found.nodes)}
    rows = [
        (
            line.group or "(no group of the stack)",
            line.capacity,
            _types(line),
            str(line.nodes),
            format_amount(line.monthly),
            format_amount(most[line.group]) if line.group in most and last[line.group] == number else "",
        )
        for number, line in enumerate(found.nodes)
    ]
    # Groups without a node cost nothing now, but up to their maximum size they may.
    rows += [
        (group, "", "", "0", format_amount(Decimal(0)), format_amount(amount))
        for group, amount in most.items()
        if group not in last
    ]
    rows += [(what, "", "", "", format_amount(amount), "") for what, amount in found.others]
    yield Table(("what", "capacity", "instance type", "nodes", "per month", "at maximum size"), rows)
    yield from build_chart(found)
    yield from _by_label(found)
    yield from _arm64(found)
    if found.unknown:
        yield Items("Unknown", [f"{reason}." for reason in found.unknown])


def format_known_part(known: Decimal, currency: str, *, complete: bool) -> str:
    """Return ``1,234.50 USD per month``, with ``plus unknown costs`` if that is not all."""
    if complete:
        return f"{known:,.2f} {currency} per month"
    return f"{known:,.2f} {currency} per month, plus unknown costs" if known else "unknown"


def build_chart(found: CostReport) -> Iterator[Table]:
    """Yield a bar for each kind of nodes and each other cost; nothing where all are unknown."""
    drawn = [each for each in build_bars(found) if each.length]
    if drawn:
        rows = [(each.label, format_amount(each.monthly), f"{each.share:.0%}", _drawn(each)) for each in drawn]
        yield Table(("", found.currency, "share", ""), rows, "By architecture and capacity type")


def _drawn(bar: Bar) -> str:
    console = Console(width=_BAR, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(RichBar(1, 0, bar.length, width=_BAR, color="default"), end="")
    return captured.get().strip() or "▏"


def _by_label(found: CostReport) -> Iterator[Table]:
    if found.by_label:
        rows = [
            (NOT_REQUESTED if each.value is None else each.value or f"(without {found.label})",
             "" if each.value is None else str(each.pods), format_amount(each.monthly))
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
            f"Pods that may run on arm64 but are on amd64 nodes cost {format_amount(abs(found.fallback))} "
            f"{found.currency} {compared} per month than on arm64."
        )
    if found.savings:
        rows = [
            (f"{each.namespace} {each.workload}", str(each.pods), format_amount(each.monthly), "; ".join(each.blockers))
            for each in found.savings
        ]
        yield Table(
            ("workload", "pods", "saves per month", "not on arm64 because"),
            rows,
            f"Workloads that can't run on arm64 yet ({found.currency})",
        )


def _types(line: CostLine) -> str:
    if len(line.instance_types) > 1:
        return f"{line.instance_types[0]} or {format_count(len(line.instance_types) - 1, 'other')}"
    return line.instance_types[0] if line.instance_types else "unknown"


@dataclass(frozen=True, slots=True)
class _Team:
    """What the stacks of a team cost, as far as it is known."""

    team: str
    currency: str
    monthly: Decimal
    complete: bool


def _teams(reports: Sequence[CostReport]) -> Iterator[_Team]:
    for name, currency in sorted({(each.team, each.currency) for each in reports}):
        own = [each for each in reports if (each.team, each.currency) == (name, currency)]
        yield _Team(name, currency, sum((each.monthly for each in own), Decimal(0)), all(each.complete for each in own))
