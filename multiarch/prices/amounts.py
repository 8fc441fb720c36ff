"""Prices from strings; sums and differences of amounts, of which some are unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from multiarch.prices.model import HOURS_PER_MONTH, Amount, UnknownPrice

_MAX_EXPONENT = 12
"""Prices are below 10^13, and at least 10^-12 if they are not 0; a string such as 1E+999999999 has a GB of digits."""


def parse_price(text: str) -> Decimal:
    """Return a price of a file or of AWS. Raises ValueError, or InvalidOperation if it is not a number."""
    price = Decimal(text)
    if not price.is_finite() or price < 0 or (price and abs(price.adjusted()) > _MAX_EXPONENT):
        raise ValueError(f"the price {text!r} must be a number that is not negative")
    return price.normalize()


def sum_amounts(amounts: Iterable[Amount]) -> Amount:
    """Return the sum; unknown, with all reasons, if one amount is."""
    every = list(amounts)
    if unknown := [each.reason for each in every if isinstance(each, UnknownPrice)]:
        return UnknownPrice("; ".join(dict.fromkeys(unknown)))
    return sum_known(every)


def average_amounts(amounts: Sequence[Amount]) -> Amount:
    """Return the mean of at least one amount; the first unknown one if there is any."""
    unknown = next((each for each in amounts if isinstance(each, UnknownPrice)), None)
    return unknown or sum_known(amounts) / len(amounts)


def subtract_amounts(new: Amount, old: Amount) -> Amount:
    """Return ``new`` less ``old``; unknown if one is."""
    return sum_amounts([new, old if isinstance(old, UnknownPrice) else -old])


def multiply_amount(amount: Amount, share: Decimal) -> Amount:
    """Return a part of an amount, or a multiple."""
    return amount if isinstance(amount, UnknownPrice) else amount * share


def compute_month(number: int, hour: Amount) -> Amount:
    """Return what ``number`` of something cost in a month; 0 for none, also where the price is unknown."""
    return Decimal(0) if number == 0 else multiply_amount(hour, Decimal(number * HOURS_PER_MONTH))


def sum_known(amounts: Iterable[Amount]) -> Decimal:
    """Return the sum of those that are known."""
    return sum((each for each in amounts if not isinstance(each, UnknownPrice)), Decimal(0))


def sort_by_amount(amount: Amount) -> tuple[bool, Decimal]:
    """Return a sort key: the largest amount first, unknown ones last."""
    return isinstance(amount, UnknownPrice), Decimal(0) if isinstance(amount, UnknownPrice) else -amount


def list_unknown_reasons(amounts: Iterable[Amount]) -> tuple[str, ...]:
    """Return why amounts are unknown, each once and sorted."""
    return tuple(sorted({each.reason for each in amounts if isinstance(each, UnknownPrice)}))
