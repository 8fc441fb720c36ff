"""``multiarch cost``: what stacks cost in a month, and what arm64 would save."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.formats import Format, output_option, show
from multiarch.cli.options import stacks
from multiarch.cli.options.prices import MaxAgeOption, PricesFile
from multiarch.cli.options.stacks import StacksArgument
from multiarch.cli.usage import Command

HELP = """Show what stacks cost per month.

Costs are shown by node group, architecture, capacity type and team, with the prices that `multiarch prices fetch` wrote
to a file. What has no price is "unknown", with the reason.

Node groups count with their desired size.

\b
Examples:
  multiarch prices fetch --region eu-west-1
  multiarch cost payments-prod
  multiarch cost --prices cache/prices.json --output csv      all stacks of the project

Exit code: 0; 2 for invalid input; 3 if the cluster can't be reached."""


def cost(
    names: StacksArgument = None,
    *,
    prices: PricesFile = Path("prices.json"),
    prices_max_age: MaxAgeOption = 7,
    output: Annotated[Format, output_option("records")] = Format.TABLE,
) -> None:
    """Show costs, as :data:`HELP` says."""
    from multiarch.cli.cost.report import report
    from multiarch.cost.pricing import Pricing
    from multiarch.cost.stack import stack_costs
    from multiarch.prices.file import read
    from multiarch.today import today

    known = read(prices)
    plans = [stacks.planned(path)[1] for path in stacks.files(names or [])]
    oldest = timedelta(days=prices_max_age)
    reports = [stack_costs(plan, Pricing(known.of(plan.region), today(), oldest)) for plan in plans]
    show(report(reports), output)


commands = typer.Typer()
"""The command itself: there is nothing below it."""
commands.command("cost", cls=Command, help=HELP)(cost)
