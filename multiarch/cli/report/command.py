"""``multiarch report``: one HTML page about a stack, its cluster, or a cluster without a stack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import AccessOptions, SourceOptions
from multiarch.cli.options.prices import PriceOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import OptionalStackArgument, plan_of
from multiarch.cli.terminal import print_message, print_notes, show_progress
from multiarch.errors import MultiarchError, OutsideError
from multiarch.files import write_atomically
from multiarch.report.pages import build_page
from multiarch.report.rendering import Renderer
from multiarch.runs.report import gather_cluster_page, gather_page

HELP = """Write one HTML page about a stack or a cluster.

The page shows node groups and architectures, where pods run, workloads and images that block arm64, DaemonSets by node
group, what keeps running when something fails, and costs. It is one file that loads nothing from the network; its
tables sort and filter.

Workloads come from manifests (--manifests), or from the live cluster of the kubeconfig (--live), which also says which
nodes there are. Costs need the prices that `multiarch prices fetch` wrote to a file. A part that can't be read says
why, and the others are still there.

--cluster NAME is about an EKS cluster without a stack, whatever tool made it: its groups by architecture, the arm64
groups that `multiarch stack new --from-cluster` would write, what they would save (--prices), and the next commands.
Where the kubeconfig has a context of the cluster, also its workloads, images that block arm64, and DaemonSets.

\b
Examples:
  multiarch report payments-prod --html report.html --manifests examples/pods.yaml
  multiarch report payments-prod --html report.html --live --prices prices.json
  multiarch report --cluster shop-prod --region eu-central-1 --html report.html --prices prices.json
  helm template shop ./chart | multiarch report checkout-dev --html report.html --manifests -

Exit code: 0; 2 for invalid input; 3 if a part that was requested could not be read."""


@with_groups
def report(
    stack: OptionalStackArgument = None,
    *,
    cluster_name: Annotated[
        str | None, typer.Option("--cluster", metavar="NAME", help="An EKS cluster without a stack, in place of STACK.")
    ] = None,
    region: Annotated[
        str | None, typer.Option(metavar="REGION", help="With --cluster: its region. Default: the environment's.")
    ] = None,
    html: Annotated[Path, typer.Option(metavar="FILE", help="Write the page to this file.")],
    source: SourceOptions,
    cluster: AccessOptions,
    cost: PriceOptions,
    registries: RegistryOptions,
) -> None:
    """Write the page, as :data:`HELP` says."""
    if (stack is None) == (cluster_name is None):
        raise MultiarchError("Give either STACK or --cluster NAME.")
    if cluster_name is not None and (source.files or source.live):
        raise MultiarchError("--cluster reads the cluster: omit --manifests and --live.")
    renderer = Renderer()
    with show_progress("reading images") as step:
        if cluster_name is not None:
            where = cluster.access
            page = gather_cluster_page(cluster_name, region, where, cost.pricing, registries.access, progress=step)
        else:
            live = cluster.access if source.choose_live(cluster) else None
            plan = plan_of(str(stack))
            pricing = cost.pricing(plan.region)
            page = gather_page(plan, pricing, registries.access, files=source.files, live=live, progress=step)
    write_atomically(html, renderer.render(build_page(page.contents)))
    print_message(f"Wrote {html}.")
    print_notes(page.notes)
    for name, reason in page.failed:
        print_message(f"not read: {name}: {reason}")
    if page.failed:
        raise typer.Exit(OutsideError.exit_code)
