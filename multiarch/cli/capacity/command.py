"""``multiarch capacity``: what keeps running when zones, node groups, spot capacity or nodes fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.headroom import Headroom
from multiarch.capacity.model import CapacityReport
from multiarch.cli.capacity.blocks import ShownCapacity, make_blocks
from multiarch.cli.capacity.recommendation import build_recommendation_blocks, show_patch
from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Report
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import AccessOptions, SourceOptions
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.terminal import print_message, show_progress
from multiarch.errors import MultiarchError
from multiarch.manifests.quantities import format_bytes, format_cpu
from multiarch.plurals import format_count
from multiarch.prices.file import read_prices
from multiarch.prices.model import RegionPrices, UnknownPrice
from multiarch.runs.capacity import (
    CapacityResult,
    choose_failures,
    find_image_support,
    parse_pod_count,
    recommend_change,
    write_headroom,
)
from multiarch.runs.stacks import find_file, load_plan
from multiarch.runs.workload_input import read_cluster, read_cluster_workloads, read_manifest_workloads

HELP = """Show what keeps running when something fails.

Zones, node groups, spot capacity or nodes fail. Each failure is simulated: pods of lost nodes are created again, the
remaining nodes are filled, and the autoscaler adds nodes where they are available. A workload is short if fewer of
its pods get a node than its PodDisruptionBudget requires.

--manifests FILE reads manifests with workloads, DaemonSets and PodDisruptionBudgets. Each node group starts with its
desired size.

--live reads the pods, nodes and PodDisruptionBudgets of the cluster of --kubeconfig and --context. Nothing is written
to it.

\b
Failures, unless --failure is given:
  each zone; each node group and NodePool; all spot capacity of an architecture;
  the largest nodes; each architecture

\b
Examples:
  multiarch capacity payments-prod --manifests examples/pods.yaml
  multiarch capacity payments-prod --manifests deploy/ --failure zone=b --failure zone=a,spot=arm64
  multiarch capacity payments-prod --live --context production --check-images
  helm template shop ./chart | multiarch capacity checkout-dev --manifests - --minimum 50% --output json

Exit code: 0; 1 if a workload is short or a pod fits nowhere; 2 for invalid input; 3 if the cluster can't be reached."""


@dataclass(frozen=True, slots=True)
class RecommendOptions:
    """Whether to look for a change of the stack file, and what to do with it."""

    recommend: Annotated[
        bool,
        typer.Option("--recommend", help="Find the cheapest change of the stack file that keeps every minimum."),
    ] = False
    write: Annotated[
        bool, typer.Option("--write", help="Write the recommended change to the stack file; comments stay.")
    ] = False
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Prices that `multiarch prices fetch` wrote to FILE: Karpenter buys the cheapest types, and "
            "--recommend compares costs. Default: the smallest types, and vCPUs.",
        ),
    ] = None

    search_time: Annotated[
        int,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="End the search of --recommend after this time, with the cheapest change so far.",
        ),
    ] = 60

    headroom: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write manifests of placeholder pods, whose room moving pods get at once."),
    ] = None

    def validate(self) -> None:
        """Raise MultiarchError for --write without --recommend."""
        if self.write and not self.recommend:
            raise MultiarchError("--write needs --recommend.")

    def prices_of(self, region: str | None) -> RegionPrices | UnknownPrice | None:
        """Return the prices of a region, None without --prices. Raises MultiarchError for a file that can't be read."""
        return None if self.prices is None else read_prices(self.prices).of(region)


@with_groups
def capacity(
    stack: StackArgument,
    *,
    source: SourceOptions,
    cluster: AccessOptions,
    failure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,…",
            help="What fails at the same time: zone=b, group=NAME, spot=arm64, architecture=amd64, largest=2. May be "
            "repeated.",
        ),
    ] = None,
    largest: Annotated[int, typer.Option(metavar="N", min=0, help="Fail the N largest nodes together; 0: none.")] = 1,
    minimum: Annotated[
        str, typer.Option(metavar="N|N%", help="Pods to keep of a workload without a PodDisruptionBudget.")
    ] = "100%",
    node_start: Annotated[int, typer.Option(metavar="SECONDS", min=0, help="Seconds until a new node is ready.")] = 90,
    movable_volumes: Annotated[
        bool, typer.Option("--movable-volumes", help="Volumes can be attached in every zone, unlike EBS volumes.")
    ] = False,
    check_images: Annotated[
        bool, typer.Option("--check-images", help="Read which architectures the images support.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show every workload whose pods move.")] = False,
    recommending: RecommendOptions,
    output: OutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Evaluate failures, as :data:`HELP` says."""
    live = source.choose_live(cluster, required=True)
    recommending.validate()
    path = find_file(stack, get_chosen_project())
    plan = load_plan(path)[1]
    prices = recommending.prices_of(plan.region)
    known = None if isinstance(prices, UnknownPrice) else prices
    if live:
        given = read_cluster_workloads(
            plan, read_cluster(plan, cluster.access, budgets=True, images=check_images), prices=known
        )
    else:
        given = read_manifest_workloads(plan, source.files, prices=known)
    failures = choose_failures(plan, given, failure or (), largest)
    images = {}
    if check_images:
        with show_progress("reading images") as step:
            images = find_image_support(given, registries.access, step)
    evaluate = Evaluation(
        given.workloads.pods,
        given.budgets(),
        given.context,
        given.nodes,
        images,
        node_start,
        parse_pod_count(minimum),
        zonal_volumes=not movable_volumes,
    )
    report = evaluate(plan, failures)
    found = None
    if recommending.recommend:
        with show_progress("simulating changes"):
            found = recommend_change(
                path, plan, failures, evaluate, prices, seconds=recommending.search_time, write=recommending.write
            )
    if recommending.headroom is not None:
        changed, after = (plan, report) if found is None else (found.result.plan, found.report)
        _say_headroom(recommending.headroom, write_headroom(recommending.headroom, changed, after, given))
    no_prices = [f"No prices: {prices.reason}."] if isinstance(prices, UnknownPrice) else []
    notes = (*no_prices, *given.notes, *given.credentials.notes)
    report = replace(report, assumptions=(*notes, *report.assumptions))
    shown = ShownCapacity(report, images_read=check_images, explain=explain)
    more = [] if found is None else list(build_recommendation_blocks(found, recommending.search_time))
    data = CapacityResult(report, found)
    print_report(Report("capacity", data=data, blocks=lambda: [*make_blocks(shown), *more]), output)
    if found is not None:
        show_patch(found, output)
    _finish(found.report if found is not None and found.written else report, searched=found is not None)


def _say_headroom(file: Path, headrooms: tuple[Headroom, ...]) -> None:
    if not headrooms:
        print_message(f"{file} was not written: no pods move when a zone or the largest nodes fail.")
    for each in headrooms:
        amounts = f"{format_cpu(each.cpu)} CPU and {format_bytes(each.memory)}"
        print_message(
            f"{file}: {each.architecture}: {format_count(each.replicas, 'placeholder pod')} of {amounts} for the pods "
            f"that move ({each.failure}), and {each.spread} more for those in the zone that fails."
        )


def _finish(report: CapacityReport, *, searched: bool) -> None:
    """Say on stderr what is short, and end with 1 if something is."""
    short = {(each.namespace, each.name) for result in report.failures for each in result.short}
    nowhere = sum(each.pending for each in report.without_failure.workloads)
    if nowhere:
        print_message(f"{format_count(nowhere, 'pod')} without a node even when nothing fails.")
    if short:
        look = "" if searched else " --recommend looks for the cheapest change of the stack file."
        print_message(f"{format_count(len(short), 'workload')} short of the minimum in a failure.{look}")
    if short or nowhere or report.without_failure.short:
        raise typer.Exit(1)
