"""Amounts of money in tables and in JSON."""

from __future__ import annotations

from multiarch.prices.model import Amount, UnknownPrice


def shown(amount: Amount) -> str:
    """``1,234.50`` or ``unknown``."""
    return "unknown" if isinstance(amount, UnknownPrice) else f"{amount:,.2f}"


def as_json(amount: Amount) -> str | None:
    """A string with four decimals, or None where the amount is unknown."""
    return None if isinstance(amount, UnknownPrice) else f"{round(amount, 4):f}"
