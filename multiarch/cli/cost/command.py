"""``multiarch cost``: what stacks cost in a month, and what arm64 would save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, output_option, show
from multiarch.cli.options import stacks, with_groups
from multiarch.cli.options.cluster import AccessOptions
from multiarch.cli.options.grouping import GroupByOption
from multiarch.cli.options.prices import MaxAgeOption, PricesFile
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import StacksArgument
from multiarch.cli.options.workloads import WorkloadOptions
from multiarch.cli.usage import Command
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.cost.model import CostReport
    from multiarch.cost.pricing import Pricing

HELP = """Show what stacks cost per month, and what arm64 would save.

Costs are shown by node group, architecture, capacity type and team, with the prices that `multiarch prices fetch` wrote
to a file. What has no price is "unknown", with the reason.

Node groups count with their desired size. --workloads FILE reads manifests of pods: the nodes that the autoscaler would
add for them are counted too. --live counts the nodes of the cluster of --kubeconfig and --context instead.

Both show what pods that may run on arm64 cost more because they are on amd64 nodes, and what each workload that can't
run on arm64 yet would save there, the largest saving first. For that, images are looked up in their registries. --live
without STACK shows the nodes of the cluster alone. --group-by LABEL shows what the pods of each value of a label cost.

\b
Examples:
  multiarch prices fetch --region eu-west-1
  multiarch cost payments-prod
  multiarch cost payments-prod --workloads examples/pods.yaml
  multiarch cost payments-prod --live --context payments-prod
  multiarch cost --live --group-by team                       a cluster without a stack, by the pods' label team
  multiarch cost --prices cache/prices.json --output csv      all stacks of the project

Exit code: 0; 2 for invalid input; 3 if the cluster can't be reached."""


@with_groups
def cost(
    names: StacksArgument = None,
    *,
    source: WorkloadOptions,
    access: AccessOptions,
    group_by: GroupByOption = None,
    prices: PricesFile = Path("prices.json"),
    prices_max_age: MaxAgeOption = 7,
    output: Annotated[Format, output_option("records")] = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Show costs, as :data:`HELP` says."""
    from multiarch.cli.cost.report import report
    from multiarch.cost.pricing import Pricing
    from multiarch.prices.file import read
    from multiarch.today import today

    source.validate(access)
    if group_by and not (source.live or source.files):
        raise MultiarchError("--group-by needs --workloads or --live.", hint="A stack without pods has no labels.")
    known, oldest = read(prices), timedelta(days=prices_max_age)
    reports = _reports(
        names or [],
        lambda region: Pricing(known.of(region), today(), oldest),
        source.files,
        access if source.live else None,
        registries,
        group_by or "",
    )
    show(report(reports), output)


def _reports(
    names: Sequence[str],
    pricing_of: Callable[[str | None], Pricing],
    workloads: Sequence[str],
    live: AccessOptions | None,
    registries: RegistryOptions,
    label: str,
) -> list[CostReport]:
    """The costs of each stack; with ``live`` and no stack, those of the cluster alone."""
    from multiarch.cli.cost.source import cluster_alone, costs, from_cluster, from_manifests
    from multiarch.cost.stack import stack_costs

    if live is not None and not names:
        return [cluster_alone(live, pricing_of, label)]
    plans = stacks.plans_of(names)
    if live is None and not workloads:
        return [stack_costs(plan, pricing_of(plan.region)) for plan in plans]
    if len(plans) > 1:
        option = "--workloads" if workloads else "--live"
        raise MultiarchError(f"{option} needs one stack.", hint=f"Name it: {', '.join(each.stack for each in plans)}.")
    (plan,) = plans
    pricing = pricing_of(plan.region)
    found = from_cluster(plan, live) if live else from_manifests(plan, pricing, workloads)
    return [costs(plan, pricing, found, registries, label)]


commands = typer.Typer()
"""The command itself: there is nothing below it."""
commands.command("cost", cls=Command, help=HELP)(cost)
