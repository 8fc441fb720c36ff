"""What a change costs, in the words and the table of a review."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from multiarch.cli.formats.report import Table
from multiarch.cli.lines import format_amount
from multiarch.cost.pricing import OMITTED
from multiarch.prices.model import RegionPrices
from multiarch.review.cost import CostDifference, CostRow, format_signed


def format_cost(cost: CostDifference) -> str:
    """Return ``+199.51 USD per month; +6 vCPUs, +24 GiB``, empty if nothing that has a price changes."""
    if not cost.rows:
        return ""
    total = "unknown" if cost.total is None else f"{format_signed(cost.total)} {cost.currency} per month"
    if cost.total is not None and not cost.complete:
        total += ", plus unknown costs"
    return "; ".join(filter(None, (total, _capacity(cost))))


def build_cost_table(cost: CostDifference) -> Table:
    """Return a row for each node group, control planes, and each item of networks. Amounts are per month."""
    columns = ["what", "from", "to", "vCPU", "GiB", "before", "after", "difference", "at maximum size"]
    if not cost.currency:  # without prices no amount is known
        return Table(columns[:5], [_cells(row)[:5] for row in cost.rows], title="Capacity")
    return Table(columns, [_cells(row) for row in cost.rows], title=f"Cost per month ({cost.currency})")


def list_cost_notes(cost: CostDifference) -> Iterator[str]:
    """Yield what is unknown, and how old the prices are."""
    for reason in cost.unknown:
        yield f"Unknown: {reason}"
    if isinstance(cost.prices, RegionPrices):
        yield f"Prices of {cost.prices.region} of {cost.prices.fetched:%Y-%m-%d}, 730 hours, {OMITTED}"
    if cost.stale:
        yield cost.stale


def _cells(row: CostRow) -> list[str]:
    return [
        row.what,
        row.size_before,
        row.size_after,
        _count(row.vcpus),
        _count(row.gib),
        format_amount(row.before),
        format_amount(row.after),
        format_signed(row.change),
        format_signed(row.change_at_most),
    ]


def _capacity(cost: CostDifference) -> str:
    """Return the differences in vCPUs and GiB that are known."""
    parts = []
    for unit, values in (("vCPUs", [row.vcpus for row in cost.rows]), ("GiB", [row.gib for row in cost.rows])):
        total = sum((each for each in values if each is not None), Decimal(0))
        if total:
            parts.append(f"{_count(total)} {unit}")
    return ", ".join(parts)


def _count(value: Decimal | None) -> str:
    return "unknown" if value is None else f"{value:+g}" if value else "0"
