"""``multiarch rebalance``: move pods that could run on arm64 nodes off amd64 nodes."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import ClusterOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import StackArgument, plan_of
from multiarch.cli.rebalance.report import plan_report, run_report
from multiarch.cli.rebalance.times import parse_pace, parse_quiet_hours
from multiarch.cli.streams import reduce_collections
from multiarch.cli.terminal import print_message, show_progress
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.manifests.label_query import parse_label_query
from multiarch.observed.objects import check_namespaces
from multiarch.rebalance.candidates import Choice
from multiarch.rebalance.clock import Clock
from multiarch.rebalance.run import Settings
from multiarch.runs.rebalance import Planner, make_run_name

HELP = """Move pods back to arm64 nodes.

Finds pods on amd64 nodes that could run on arm64 nodes: by their tolerations, their affinity and their images. Without
--apply it shows which of them would be moved, where, and why the others stay.

With --apply it goes node by node: it lets the autoscaler add arm64 nodes where they are needed, cordons the amd64
node, evicts one pod at a time by the eviction API, which PodDisruptionBudgets guard, waits until the pod's replacement
is ready on an arm64 node, and uncordons the node. It stops when a replacement comes back to amd64 or does not become
ready. A run that is killed leaves a cordoned node to the next run, which uncordons it first.

Never moved: pods without a controller, pods of DaemonSets and Jobs, pods with local or persistent storage, and
pods with an annotation against it. docs/how-to/rebalance.md says more.

\b
Examples:
  multiarch rebalance payments-prod
  multiarch rebalance payments-prod --apply --max-pods 5 --pace 2m
  multiarch rebalance payments-prod --apply --quiet-hours "0 7 * * mon-fri 12h"

Exit code: 0; 1 if a run had to stop; 2 for invalid input; 3 if the cluster can't be reached; 128 and the signal's
number if a signal ended it."""


@with_groups
def rebalance(
    stack: StackArgument,
    *,
    apply: Annotated[
        bool, typer.Option("--apply/--dry-run", help="Move the pods, or show the plan and change nothing.")
    ] = False,
    max_pods: Annotated[
        int, typer.Option(metavar="N", min=1, help="The maximum number of pods that one run evicts.")
    ] = 20,
    pace: Annotated[str, typer.Option(metavar="TIME", help="From one moved pod to the next eviction.")] = "30s",
    ready_timeout: Annotated[
        str,
        typer.Option(metavar="TIME", help="How long a new arm64 node may take, and how long a replacement."),
    ] = "10m",
    quiet_hours: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'CRON TIME'",
            help="Move nothing then: cron in UTC, and for how long, as in '0 7 * * mon-fri 12h'; may be repeated.",
        ),
    ] = None,
    delete_emptydir_data: Annotated[
        bool, typer.Option("--delete-emptydir-data", help="Also move pods with emptyDir volumes, whose data is lost.")
    ] = False,
    evict_single: Annotated[
        bool, typer.Option("--evict-single", help="Also move a workload's only ready pod without a budget.")
    ] = False,
    cluster: ClusterOptions,
    output: OutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Rebalance, as :data:`HELP` says."""
    times = [parse_quiet_hours(each) for each in quiet_hours or ()]
    settings = Settings(
        name=make_run_name(),
        max_pods=max_pods,
        pace=parse_pace("--pace", pace),
        timeout=parse_pace("--ready-timeout", ready_timeout),
        quiet=lambda at: any(quiet(at) for quiet in times),
    )
    choice = Choice(
        namespaces=frozenset(cluster.namespace or ()),
        selector=parse_label_query(cluster.selector),
        empty_dirs=delete_emptydir_data,
        single=evict_single,
    )
    plan = plan_of(stack)
    with reduce_collections(), KubernetesCluster(cluster.access) as opened:
        check_namespaces(opened, cluster.namespace or ())
        reading = partial(show_progress, "reading images")
        planner = Planner(plan, choice, opened, registries.access, progress=reading, say=print_message)
        if apply:
            _run(planner, settings, output)
        else:
            print_report(plan_report(planner.plan_moves(settings)), output)


def _run(planner: Planner, settings: Settings, output: Format) -> None:
    clock = Clock()
    with clock.stopping_on_signals():
        found = planner.move_pods(settings, clock)
        print_report(run_report(found), output)
    for node in found.run.still_cordoned:
        print_message(
            f"error: node {node} may still be cordoned. The next run uncordons it, or `kubectl uncordon {node}` does."
        )
    if code := 128 + clock.signal if clock.signal else found.run.exit_code:
        raise typer.Exit(code)
