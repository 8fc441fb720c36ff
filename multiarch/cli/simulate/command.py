"""``multiarch simulate``: which nodes a set of pods would get, and why."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Report
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import ClusterOptions, SourceOptions
from multiarch.cli.options.prices import PriceOptions
from multiarch.cli.options.stacks import StackArgument, plan_of
from multiarch.cli.simulate.blocks import make_blocks
from multiarch.cli.terminal import print_message
from multiarch.facts.architectures import Architecture
from multiarch.plurals import format_count
from multiarch.runs.simulate import read_pending, simulate_workloads
from multiarch.runs.workload_input import read_manifest_workloads

HELP = """Show which nodes pods would get, and why.

No node needs to exist yet. The pods come from manifests or from a live cluster:

--manifests FILE reads manifests that kubectl applies or prints: Deployments, Jobs, bare pods and everything else that
creates pods. DaemonSets among them take their share of every node.

--live reads the pods without a node, the DaemonSets and the nodes of the cluster of --kubeconfig and --context.
Nothing is written to the cluster.

With --prices the result has costs, and Karpenter buys the cheapest instance type that holds a node's pods; without, the
smallest is named.

\b
Examples:
  multiarch simulate payments-prod --manifests examples/pods.yaml
  multiarch simulate payments-prod --manifests examples/pods.yaml --prefer arm64 --explain
  helm template shop ./chart | multiarch simulate checkout-dev --manifests - --output json
  multiarch simulate checkout-dev --live --context production
  multiarch simulate payments-prod --manifests examples/pods.yaml --prices prices.json

Exit code: 0; 1 if a pod gets no node; 2 for invalid input; 3 if the cluster can't be reached."""


@with_groups
def simulate(
    stack: StackArgument,
    *,
    source: SourceOptions,
    cluster: ClusterOptions,
    cost: PriceOptions,
    prefer: Annotated[
        Architecture | None,
        typer.Option(
            help="What if: every pod that may run on this architecture prefers it, as after `workload patch --prefer`."
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say for each workload and group why it got the pods, or why not.")
    ] = False,
    only_unplaced: Annotated[
        bool, typer.Option("--only-unplaced", help="Show only workloads with a pod that got no node.")
    ] = False,
    output: OutputOption = Format.TABLE,
) -> None:
    """Simulate, as :data:`HELP` says."""
    live = source.choose_live(cluster, required=True)
    plan = plan_of(stack)
    pricing = cost.pricing(plan.region)
    if live:
        given = read_pending(plan, cluster.access, namespaces=cluster.namespace or (), selector=cluster.selector)
    else:
        # The objects take more memory than all the rest, and a simulation needs only their pods.
        given = replace(read_manifest_workloads(plan, source.files), objects=())
    found = simulate_workloads(plan, given, pricing=pricing, prefer=prefer)
    blocks = partial(make_blocks, found, explain=explain, only_unplaced=only_unplaced, prefer=prefer)
    data = found.choose_unplaced() if only_unplaced else found
    print_report(Report("simulation", data=data, blocks=blocks), output)
    if found.unplaced:
        print_message(f"{format_count(found.unplaced, 'pod')} got no node.")
        raise typer.Exit(1)
