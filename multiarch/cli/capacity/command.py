"""``multiarch capacity``: what keeps running when zones, node groups, spot capacity or nodes fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.capacity.recommendation import RecommendOptions
from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Report
from multiarch.cli.options import stacks, with_groups
from multiarch.cli.options.cluster import AccessOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.options.workloads import SOURCES, WorkloadOptions
from multiarch.cli.terminal import say
from multiarch.cli.usage import Command
from multiarch.errors import MultiarchError
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.capacity.model import CapacityReport, Failure
    from multiarch.scheduling.pods import Pod
    from multiarch.stack.model import Plan

HELP = """Show what keeps running when something fails.

Zones, node groups, spot capacity or nodes fail. Each failure is simulated: pods of lost nodes are created again, the
remaining nodes are filled, and the autoscaler adds nodes where they can be had. A workload is short if fewer of
its pods get a node than its PodDisruptionBudget asks for.

--workloads FILE reads manifests with workloads, DaemonSets and PodDisruptionBudgets. Each node group starts with its
desired size.

--live reads the pods, nodes and PodDisruptionBudgets of the cluster of --kubeconfig and --context. Nothing is written
to it.

\b
Failures, unless --failure is given:
  each zone; each node group and NodePool; all spot capacity of an architecture;
  the largest nodes; each architecture

\b
Examples:
  multiarch capacity payments-prod --workloads examples/pods.yaml
  multiarch capacity payments-prod --workloads deploy/ --failure zone=b --failure zone=a,spot=arm64
  multiarch capacity payments-prod --live --context production --check-images
  helm template shop ./chart | multiarch capacity checkout-dev --workloads - --minimum 50% --output json

Exit code: 0; 1 if a workload is short or a pod fits nowhere; 2 for invalid input; 3 if the cluster can't be reached."""


@with_groups
def capacity(
    stack: StackArgument,
    *,
    source: WorkloadOptions,
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
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every workload whose pods move, and what is not modelled.")
    ] = False,
    recommending: RecommendOptions,
    output: OutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Evaluate failures, as :data:`HELP` says."""
    from dataclasses import replace

    from multiarch.capacity.evaluation import evaluate
    from multiarch.capacity.failures import failures_of, parse_failure
    from multiarch.capacity.waiting import Waits
    from multiarch.cli.capacity.blocks import Shown, blocks
    from multiarch.cli.capacity.data import report_data
    from multiarch.cli.capacity.recommendation import recommended, write_headroom
    from multiarch.cli.capacity.source import pod_count, supported_by_images
    from multiarch.cli.workload_input import from_cluster, from_manifests, read_cluster
    from multiarch.prices.model import UnknownPrice

    source.validate(cluster)
    if not source.files and not source.live:
        raise MultiarchError("No workloads are given.", hint=SOURCES)
    recommending.validate()
    plan = stacks.plan_of(stack)
    prices = recommending.prices_of(plan.region)
    known = None if isinstance(prices, UnknownPrice) else prices
    given = (
        from_cluster(plan, read_cluster(plan, cluster.access, budgets=True, images=check_images), prices=known)
        if source.live
        else from_manifests(plan, source.files, prices=known)
    )
    budgets, zones = given.budgets(), given.context.zones
    failures = [parse_failure(each, plan, zones) for each in failure or ()] or failures_of(
        plan, zones, largest_nodes=largest
    )
    images = supported_by_images(given, registries) if check_images else None
    without_budget, waits = pod_count(minimum), Waits(node_start=node_start)

    explained: list[tuple[Plan, tuple[Failure, ...], CapacityReport]] = []

    def evaluated(
        plan: Plan, failures: Sequence[Failure], *, explain: bool = True, pods: Sequence[Pod] | None = None
    ) -> CapacityReport:
        # A recommendation asks several times for the reports that it starts and ends with.
        asked = plan, tuple(failures)
        known = next((each[2] for each in explained if explain and pods is None and each[:2] == asked), None)
        if known is not None:
            return known
        made = evaluate(
            plan,
            given.workloads.pods if pods is None else pods,
            budgets,
            failures,
            given.context,
            nodes=given.nodes,
            images=images,
            waits=waits,
            without_budget=without_budget,
            zonal_volumes=not movable_volumes,
            explain=explain,
        )
        if explain and pods is None:
            explained.append((*asked, made))
        return made

    report = evaluated(plan, failures)
    found = recommended(stack, plan, failures, evaluated, given, recommending) if recommending.recommend else None
    if recommending.headroom is not None:
        changed, after = (plan, report) if found is None else (found.result.plan, found.report)
        write_headroom(recommending.headroom, changed, after, given)
    no_prices = [f"No prices: {prices.reason}."] if isinstance(prices, UnknownPrice) else []
    report = replace(report, assumptions=(*no_prices, *given.notes, *report.assumptions))
    shown = Shown(report, given.workloads.without_pods, images_read=check_images, explain=explain)
    show(
        Report(
            "capacity",
            data=lambda: report_data(report) | ({} if found is None else {"recommendation": found.data()}),
            blocks=lambda: [*blocks(shown), *([] if found is None else found.blocks())],
        ),
        output,
    )
    if found is not None:
        found.finish(output)
    _finish(found.report if found is not None and found.written else report)


def _finish(report: CapacityReport) -> None:
    """Say on stderr what is short, and end with 1 if something is."""
    short = {(each.namespace, each.name) for result in report.failures for each in result.short}
    nowhere = sum(each.pending for each in report.without_failure.workloads)
    if nowhere:
        say(f"{counted(nowhere, 'pod')} without a node even when nothing fails.")
    if short:
        say(f"{counted(len(short), 'workload')} short of the minimum in a failure.")
    if short or nowhere or report.without_failure.short:
        raise typer.Exit(1)


commands = typer.Typer()
"""The command itself: there is nothing below it."""
commands.command("capacity", cls=Command, help=HELP)(capacity)
