"""The products of AWS's price list: what one page of GetProducts says, and the one price of a product.

Source: AWS Billing user guide, "Reading the service price list file"; the same JSON comes from GetProducts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from multiarch.errors import OutsideError

_PREFIX = re.compile(r"[A-Z0-9]+-")
"""What begins a usage type outside us-east-1: ``EUW1-``."""


@dataclass(frozen=True, slots=True)
class Product:
    """One product with its on-demand prices per unit that are not zero, each once and sorted."""

    attributes: Mapping[str, str]
    unit: str
    prices: tuple[Decimal, ...]

    @property
    def usage(self) -> str:
        """The usage type without its region: ``AmazonEKS-Hours:perCluster``."""
        text = self.attributes.get("usagetype", "")
        return _PREFIX.sub("", text, count=1) if _PREFIX.match(text) else text


def products(price_list: Iterable[str | Mapping[str, Any]], currency: str) -> Iterator[Product]:
    """The products of GetProducts' ``PriceList`` that have a price in ``currency``.

    Raises OutsideError for an entry that has another form.
    """
    for entry in price_list:
        try:
            value = json.loads(entry) if isinstance(entry, str) else entry
            attributes = {str(key): str(text) for key, text in value["product"]["attributes"].items()}
            found = set(_prices(value.get("terms", {}), currency))
        except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation) as error:
            raise OutsideError(
                f"AWS's price list has an entry that can't be read: {type(error).__name__}: {error}.",
                hint="Check that AWS_ENDPOINT_URL, if it is set, is a server of AWS's Pricing API.",
            ) from error
        for unit in sorted({unit for unit, _ in found}):
            yield Product(attributes, unit, tuple(sorted(price for each, price in found if each == unit)))


def _prices(terms: Mapping[str, Any], currency: str) -> Iterator[tuple[str, Decimal]]:
    """Unit and price of each on-demand rate, but for free ones, which are of reservations or first quantities."""
    for term in terms.get("OnDemand", {}).values():
        for rate in term["priceDimensions"].values():
            if currency not in rate["pricePerUnit"]:
                continue
            price = Decimal(rate["pricePerUnit"][currency])
            if not price.is_finite() or price < 0:
                raise ValueError(f"the price {price}")
            if price:
                yield _unit(rate["unit"]), price.normalize()


def _unit(text: str) -> str:
    """``hour`` for Hrs, Hours and hour; other units as they are."""
    return "hour" if text.lower() in {"hrs", "hr", "hours", "hour"} else text
