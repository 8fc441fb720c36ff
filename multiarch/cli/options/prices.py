"""Options of the commands that read or write prices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from multiarch.review.model import Change

PricesFile = Annotated[Path, typer.Option(metavar="FILE", help="The file of prices.")]
MaxAgeOption = Annotated[float, typer.Option(metavar="DAYS", min=0, help="Name prices that are older than this.")]


@dataclass(frozen=True, slots=True)
class CostOptions:
    """The options as they were given."""

    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Show costs, with the prices that `multiarch prices fetch` wrote to FILE."),
    ] = None
    prices_max_age: MaxAgeOption = 7
    cost_threshold: Annotated[
        float,
        typer.Option(metavar="AMOUNT", min=0, help="Costs that rise by more per month are a finding, cost-increase."),
    ] = 100

    def priced(self, changes: Iterable[Change]) -> list[Change]:
        """The changes with prices. Raises MultiarchError for a file that can't be read."""
        from multiarch.prices.file import read

        prices = None if self.prices is None else read(self.prices)
        age, threshold = timedelta(days=self.prices_max_age), Decimal(str(self.cost_threshold))
        return [replace(each, prices=prices, price_age=age, cost_threshold=threshold) for each in changes]
