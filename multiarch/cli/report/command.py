"""``multiarch report``: one HTML page about a stack or its cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import AccessOptions, SourceOptions
from multiarch.cli.options.prices import PriceOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import StackArgument, plan_of
from multiarch.cli.streams import reduce_collections
from multiarch.cli.terminal import print_message, print_notes, show_progress
from multiarch.errors import OutsideError
from multiarch.files import write_atomically
from multiarch.report.pages import build_page
from multiarch.report.rendering import Renderer
from multiarch.runs.report import gather_page

HELP = """Write one HTML page about a stack or its cluster.

The page shows node groups and architectures, where pods run, workloads and images that block arm64, DaemonSets by node
group, what keeps running when something fails, and costs. It is one file that loads nothing from the network; its
tables sort and filter.

Workloads come from manifests (--manifests), or from the live cluster of the kubeconfig (--live), which also says which
nodes there are. Costs need the prices that `multiarch prices fetch` wrote to a file. A part that can't be read says
why, and the others are still there.

\b
Examples:
  multiarch report payments-prod --html report.html --manifests examples/pods.yaml
  multiarch report payments-prod --html report.html --live --prices prices.json
  helm template shop ./chart | multiarch report checkout-dev --html report.html --manifests -

Exit code: 0; 2 for invalid input; 3 if a part that was requested could not be read."""


@with_groups
def report(
    stack: StackArgument,
    *,
    html: Annotated[Path, typer.Option(metavar="FILE", help="Write the page to this file.")],
    source: SourceOptions,
    cluster: AccessOptions,
    cost: PriceOptions,
    registries: RegistryOptions,
) -> None:
    """Write the page, as :data:`HELP` says."""
    reads_cluster = source.choose_live(cluster)
    renderer = Renderer()
    plan = plan_of(stack)
    pricing = cost.pricing(plan.region)
    live = cluster.access if reads_cluster else None
    with reduce_collections():
        with show_progress("reading images") as step:
            page = gather_page(plan, pricing, registries.access, files=source.files, live=live, progress=step)
        write_atomically(html, renderer.render(build_page(page.contents)))
    print_message(f"Wrote {html}.")
    print_notes(page.notes)
    for name, reason in page.failed:
        print_message(f"not read: {name}: {reason}")
    if page.failed:
        raise typer.Exit(OutsideError.exit_code)
