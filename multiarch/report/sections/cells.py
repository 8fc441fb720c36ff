"""Cells that several sections have."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from multiarch import plurals
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.prices.model import Amount, UnknownPrice
from multiarch.report.model import PageCell, Status

counted = partial(plurals.format_count, separator=",")
"""``1 pod``, ``1,234 pods``."""


def format_number(value: int, status: Status = Status.PLAIN) -> PageCell:
    """Return a whole number, with a separator between thousands."""
    return PageCell(f"{value:,}", value, status)


def make_architecture_cell(value: Architecture) -> PageCell:
    """Return an architecture in its color."""
    return PageCell(str(value), status=get_status(value))


def make_architectures_cell(values: Iterable[Architecture]) -> PageCell:
    """Return ``arm64``, or ``amd64, arm64`` without a color."""
    found = tuple(values)
    return make_architecture_cell(found[0]) if len(found) == 1 else PageCell(", ".join(map(str, found)))


def get_status(architecture: Architecture, capacity_type: CapacityType | None = None) -> Status:
    """Return the color of an architecture, a lighter one for spot capacity."""
    spot = "-spot" if capacity_type is CapacityType.SPOT else ""
    return Status(f"{architecture}{spot}")


def make_amount_cell(amount: Amount) -> PageCell:
    """Return an amount of money, or ``unknown`` with its reason."""
    if isinstance(amount, UnknownPrice):
        return PageCell("unknown", status=Status.UNKNOWN, details=(amount.reason,))
    return PageCell(f"{amount:,.2f}", float(amount))


def format_share(part: int, whole: int) -> str:
    """Return ``42 %``; empty without a whole."""
    return f"{100 * part // whole} %" if whole else ""
