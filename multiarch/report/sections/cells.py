"""Cells that several sections have."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from multiarch import plurals
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.prices.model import Amount, UnknownPrice
from multiarch.report.model import PageCell, Status

counted = partial(plurals.counted, separator=",")
"""``1 pod``, ``1,234 pods``."""


def number(value: int, status: Status = Status.PLAIN) -> PageCell:
    """A whole number, with a separator between thousands."""
    return PageCell(f"{value:,}", value, status)


def of_architecture(value: Architecture) -> PageCell:
    """An architecture in its color."""
    return PageCell(str(value), status=status_of(value))


def of_architectures(values: Iterable[Architecture]) -> PageCell:
    """``arm64``, or ``amd64, arm64`` without a color."""
    found = tuple(values)
    return of_architecture(found[0]) if len(found) == 1 else PageCell(", ".join(map(str, found)))


def status_of(architecture: Architecture, capacity_type: CapacityType | None = None) -> Status:
    """The color of an architecture, a lighter one for spot capacity."""
    spot = "-spot" if capacity_type is CapacityType.SPOT else ""
    return Status(f"{architecture}{spot}")


def of_amount(amount: Amount) -> PageCell:
    """An amount of money, or ``unknown`` with its reason."""
    if isinstance(amount, UnknownPrice):
        return PageCell("unknown", status=Status.UNKNOWN, details=(amount.reason,))
    return PageCell(f"{amount:,.2f}", float(amount))


def share(part: int, whole: int) -> str:
    """``42 %``; empty without a whole."""
    return f"{100 * part // whole} %" if whole else ""
