"""The bars of a chart of costs: the same for a terminal and for a page."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from multiarch.cost.model import CostReport
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.prices.amounts import sum_amounts
from multiarch.prices.model import Amount, UnknownPrice


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: ``length`` is its share of the longest one, ``share`` its share of all, 0 to 1; both 0 if unknown.

    ``architecture`` and ``capacity_type`` are None for what is not about nodes.
    """

    label: str
    monthly: Amount
    length: float
    share: float
    architecture: Architecture | None = None
    capacity_type: CapacityType | None = None


def build_bars(report: CostReport) -> tuple[Bar, ...]:
    """Build a bar for each architecture and capacity type of nodes, and for each other cost; the largest first."""
    nodes: dict[tuple[Architecture, CapacityType | None], list[Amount]] = {}
    labels: dict[tuple[Architecture, CapacityType | None], str] = {}
    for line in report.nodes:
        key = line.architecture, line.capacity_type
        nodes.setdefault(key, []).append(line.monthly)
        labels[key] = f"{line.capacity} nodes"
    found: list[tuple[str, Amount, Architecture | None, CapacityType | None]] = [
        (labels[key], sum_amounts(amounts), *key) for key, amounts in nodes.items()
    ]
    found += [(what, amount, None, None) for what, amount in report.others]
    amounts = [Decimal(0) if isinstance(amount, UnknownPrice) else amount for _, amount, _, _ in found]
    longest, whole = max(amounts, default=Decimal(0)) or Decimal(1), sum(amounts, Decimal(0)) or Decimal(1)
    made = [
        Bar(label, amount, float(known / longest), float(known / whole), architecture, capacity_type)
        for (label, amount, architecture, capacity_type), known in zip(found, amounts, strict=True)
    ]
    return tuple(sorted(made, key=lambda bar: (-bar.length, bar.label)))
