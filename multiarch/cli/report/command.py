"""``multiarch report``: one HTML page about a stack or its cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.memory import few_collections
from multiarch.cli.options import stacks, with_groups
from multiarch.cli.options.cluster import AccessOptions
from multiarch.cli.options.prices import PriceOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.options.workloads import WorkloadOptions
from multiarch.cli.terminal import say
from multiarch.cli.usage import Command
from multiarch.errors import OutsideError

if TYPE_CHECKING:
    from multiarch.cli.report.parts import PageSource
    from multiarch.prices.model import RegionPrices
    from multiarch.stack.model import Plan

_NO_WORKLOADS = "No workloads were given: --workloads FILE reads manifests, --live reads the cluster."
HELP = """Write one HTML page about a stack or its cluster.

The page shows node groups and architectures, where pods run, workloads and images that block arm64, DaemonSets by node
group, what keeps running when something fails, and costs. It is one file that loads nothing from the network; its
tables sort and filter.

Workloads come from manifests (--workloads), or from the live cluster of the kubeconfig (--live), which also says which
nodes there are. Costs need the prices that `multiarch prices fetch` wrote to a file. A part that can't be read says
why, and the others are still there.

\b
Examples:
  multiarch report payments-prod --html report.html --workloads examples/pods.yaml
  multiarch report payments-prod --html report.html --live --prices prices.json
  helm template shop ./chart | multiarch report checkout-dev --html report.html --workloads -

Exit code: 0; 2 for invalid input; 3 if a part that was asked for could not be read."""


@with_groups
def report(
    stack: StackArgument,
    *,
    html: Annotated[Path, typer.Option(metavar="FILE", help="Write the page to this file.")],
    source: WorkloadOptions,
    cluster: AccessOptions,
    cost: PriceOptions,
    registries: RegistryOptions,
) -> None:
    """Write the page, as :data:`HELP` says."""
    from multiarch.cli.report.parts import Parts
    from multiarch.files import write_atomically
    from multiarch.report.pages import page_of
    from multiarch.report.rendering import Renderer

    source.validate(cluster)
    renderer = Renderer()
    plan = stacks.plan_of(stack)
    pricing = cost.pricing(plan.region)
    known = None if pricing is None else pricing.known
    failed: list[tuple[str, str]] = []
    with few_collections():
        found = _source(plan, known, source.files, cluster if source.live else None, failed)
        parts = Parts(plan, found, pricing, registries)
        page = renderer.render(page_of(parts.contents()))
    write_atomically(html, page)
    say(f"Wrote {html}.")
    failed += parts.failed
    for name, reason in failed:
        say(f"not read: {name}: {reason}")
    if failed:
        raise typer.Exit(OutsideError.exit_code)


def _source(
    plan: Plan,
    prices: RegionPrices | None,
    files: list[str],
    cluster: AccessOptions | None,
    failed: list[tuple[str, str]],
) -> PageSource:
    """Where workloads and nodes come from; a cluster that can't be read is added to ``failed``."""
    from multiarch.capacity.sources import Workloads
    from multiarch.cli.report.parts import PageSource
    from multiarch.cli.workload_input import WorkloadInput, from_cluster, from_manifests, read_cluster
    from multiarch.kubernetes.manifests import names_of
    from multiarch.simulate.context import simulation_context

    description, unread = "Stack file", _NO_WORKLOADS
    if cluster is not None:
        try:
            opened = read_cluster(plan, cluster.access, owners=True, budgets=True)
        except OutsideError as error:
            failed.append(("the cluster", str(error)))
            description, unread = "Stack file; the cluster could not be read", str(error)
        else:
            name = f"Cluster of context {opened.running.name}"
            return PageSource(name, from_cluster(plan, opened, prices=prices))
    elif files:
        return PageSource(f"Stack file, and workloads of {names_of(files)}", from_manifests(plan, files, prices=prices))
    return PageSource(description, WorkloadInput(simulation_context(plan, prices=prices), Workloads((), ())), unread)


commands = typer.Typer()
"""The command itself: there is nothing below it."""
commands.command("report", cls=Command, help=HELP)(report)
