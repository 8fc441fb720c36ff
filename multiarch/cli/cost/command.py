"""``multiarch cost``: what stacks cost in a month, and what arm64 would save."""

from __future__ import annotations

from pathlib import Path

from multiarch.cli.cost.report import make_report
from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import AccessOptions, SourceOptions
from multiarch.cli.options.prices import PricesFile
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import GroupByOption, StacksArgument
from multiarch.cli.terminal import show_progress
from multiarch.cost.pricing import Pricing
from multiarch.errors import MultiarchError
from multiarch.prices.file import read_prices
from multiarch.runs.cost import compute_cluster_cost, compute_costs
from multiarch.runs.stacks import load_plans
from multiarch.today import get_today

HELP = """Show what stacks cost per month, and what arm64 would save.

Costs are shown by node group, architecture, capacity type and team, with the prices that `multiarch prices fetch` wrote
to a file. What has no price is "unknown", with the reason.

Node groups count with their desired size. --manifests FILE reads manifests of pods: the nodes that the autoscaler would
add for them are counted too. --live counts the nodes of the cluster of --kubeconfig and --context instead.

Both show what pods that may run on arm64 cost more because they are on amd64 nodes, and what each workload that can't
run on arm64 yet would save there, the largest saving first. For that, images are looked up in their registries. --live
without STACK shows the nodes of the cluster alone. --group-by LABEL shows what the pods of each value of a label cost.

\b
Examples:
  multiarch prices fetch --region eu-west-1
  multiarch cost payments-prod
  multiarch cost payments-prod --manifests examples/pods.yaml
  multiarch cost payments-prod --live --context payments-prod
  multiarch cost --live --group-by team                       a cluster without a stack, by the pods' label team
  multiarch cost --prices cache/prices.json                   all stacks of the project

Exit code: 0; 2 for invalid input; 3 if the cluster can't be reached."""


@with_groups
def cost(
    names: StacksArgument = None,
    *,
    source: SourceOptions,
    access: AccessOptions,
    group_by: GroupByOption = None,
    prices: PricesFile = Path("prices.json"),
    output: OutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Show costs, as :data:`HELP` says."""
    live = source.choose_live(access)
    if group_by and not (live or source.files):
        raise MultiarchError("--group-by needs --manifests or --live.", hint="A stack without pods has no labels.")
    known = read_prices(prices)

    def pricing_of(region: str | None) -> Pricing:
        return Pricing(known.of(region), get_today())

    if live and not names:
        reports = [compute_cluster_cost(access.access, pricing_of, group_by or "")]
    else:
        plans = load_plans(names or (), get_chosen_project())
        with show_progress("reading images") as step:
            reports = compute_costs(
                plans,
                pricing_of,
                registries.access,
                files=source.files,
                live=access.access if live else None,
                label=group_by or "",
                progress=step,
            )
    print_report(make_report(reports), output)
