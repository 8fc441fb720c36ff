"""Options of the commands that read or write prices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cost.pricing import Pricing
from multiarch.prices.file import read_prices
from multiarch.prices.model import PriceList
from multiarch.review.model import StackChange
from multiarch.today import get_today

PricesFile = Annotated[Path, typer.Option("--prices", "--file", metavar="FILE", help="The price file.")]
"""``--file`` is the former spelling of ``prices fetch`` and ``prices show``."""


@dataclass(frozen=True, slots=True)
class PriceOptions:
    """The options as they were given."""

    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Show costs, with the prices that `multiarch prices fetch` wrote to FILE."),
    ] = None

    def read(self) -> PriceList | None:
        """Return the prices, None if no file was named. Raises MultiarchError for a file that can't be read."""
        return None if self.prices is None else read_prices(self.prices)

    def pricing(self, region: str | None) -> Pricing | None:
        """Return a region's prices, None if no file was named. Raises MultiarchError as :meth:`read_prices` does."""
        prices = self.read()
        return None if prices is None else Pricing(prices.of(region), get_today())


@dataclass(frozen=True, slots=True)
class CostOptions(PriceOptions):
    """Those, and the option that makes costs a finding."""

    cost_threshold: Annotated[
        float,
        typer.Option(metavar="AMOUNT", min=0, help="Costs that rise by more per month are a finding, cost-increase."),
    ] = 100

    def priced(self, changes: Iterable[StackChange]) -> list[StackChange]:
        """Return the changes with prices. Raises MultiarchError for a file that can't be read."""
        prices, threshold = self.read(), Decimal(str(self.cost_threshold))
        return [replace(each, prices=prices, cost_threshold=threshold) for each in changes]
