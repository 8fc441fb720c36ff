"""``multiarch rebalance``: move pods that could run on arm64 nodes off amd64 nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.memory import few_collections
from multiarch.cli.options import stacks, with_groups
from multiarch.cli.options.cluster import ClusterOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.rebalance.times import parse_pace, parse_quiet_hours
from multiarch.cli.terminal import progress, say
from multiarch.cli.usage import Command
from multiarch.errors import MultiarchError
from multiarch.observed.objects import check_namespaces

if TYPE_CHECKING:
    from multiarch.kubernetes.cluster import Cluster
    from multiarch.manifests.owners import WorkloadKey
    from multiarch.rebalance.candidates import Choice
    from multiarch.rebalance.model import MovePlan
    from multiarch.rebalance.plan import Scope
    from multiarch.rebalance.run import Settings
    from multiarch.rebalance.snapshot import Snapshot
    from multiarch.simulate.running import ClusterState
    from multiarch.stack.model import Plan

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
    max_pods: Annotated[int, typer.Option(metavar="N", min=1, help="The most pods that one run evicts.")] = 20,
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
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.manifests.label_query import parse_label_query
    from multiarch.rebalance.candidates import Choice
    from multiarch.rebalance.run import Settings

    times = [parse_quiet_hours(each) for each in quiet_hours or ()]
    settings = Settings(
        name=_run_name(),
        max_pods=max_pods,
        pace=parse_pace("--pace", pace),
        timeout=parse_pace("--ready-timeout", ready_timeout),
        quiet=lambda at: any(each.contains(at) for each in times),
    )
    choice = Choice(
        namespaces=frozenset(cluster.namespace or ()),
        selector=parse_label_query(cluster.selector),
        empty_dirs=delete_emptydir_data,
        single=evict_single,
    )
    plan = stacks.plan_of(stack)
    with few_collections(), open_cluster(cluster.access) as opened:
        check_namespaces(opened, cluster.namespace or ())
        planner = _Planner(plan, choice, opened, registries)
        if apply:
            _run(planner, opened, settings, output)
        else:
            _show(planner, opened, settings, output)


class _Planner:
    """Makes plans of a stack for a cluster."""

    def __init__(self, plan: Plan, choice: Choice, cluster: Cluster, registries: RegistryOptions) -> None:
        from multiarch.runs.images import Arm64ImageJudge

        self.plan = plan
        self._choice = choice
        self._judge = Arm64ImageJudge(cluster, registries.access, _note, partial(progress, "reading images"))

    def __call__(
        self,
        snapshot: Snapshot,
        set_aside: Mapping[WorkloadKey, str],
        without: Sequence[str],
        max_pods: int,
        max_nodes: int | None = 1,
    ) -> MovePlan:
        from multiarch.rebalance.plan import make_plan

        scope = self._scope(snapshot, set_aside)
        return make_plan(snapshot, scope, max_pods=max_pods, without=without, max_nodes=max_nodes)

    def _scope(self, snapshot: Snapshot, set_aside: Mapping[WorkloadKey, str]) -> Scope:
        from dataclasses import replace

        from multiarch.rebalance.plan import Scope
        from multiarch.rebalance.room import settling
        from multiarch.simulate.context import simulation_context
        from multiarch.simulate.running import cluster_state

        plan = self.plan
        state = cluster_state(snapshot.running, plan.node_groups, plan.autoscaling.pool_names)
        _check_cluster(plan, state, snapshot.running.name)
        context = simulation_context(plan, seen=state.zones)
        return Scope(
            autoscaling=plan.autoscaling,
            taint=plan.arm64_taint,
            choice=replace(self._choice, set_aside=set_aside),
            judge_images=self._judge,
            nodes=state.nodes,
            settle=settling(plan.autoscaling, plan.node_groups, context),
        )


def _note(text: str) -> None:
    say(f"note: {text}")


def _show(planner: _Planner, cluster: Cluster, settings: Settings, output: Format) -> None:
    from multiarch.cli.rebalance.report import plan_report
    from multiarch.kubernetes.errors import ForbiddenError
    from multiarch.rebalance.clock import SystemClock
    from multiarch.rebalance.lease import read_set_aside
    from multiarch.rebalance.snapshot import read_snapshot

    now = SystemClock().now()
    try:
        aside = read_set_aside(cluster, now)
    except ForbiddenError as error:
        say(f"note: {error}")
        aside = {}
    found = planner(read_snapshot(cluster), aside, (), settings.max_pods, None)
    show(plan_report(planner.plan, found, quiet=settings.quiet(now)), output)


def _run(planner: _Planner, cluster: Cluster, settings: Settings, output: Format) -> None:
    from multiarch.cli.rebalance.report import run_report
    from multiarch.rebalance.clock import SystemClock
    from multiarch.rebalance.run import Run

    clock = SystemClock()
    with clock.stopping_on_signals():
        found = Run(cluster, clock, settings, planner, say).execute()
        show(run_report(planner.plan, found), output)
    for node in found.still_cordoned:
        say(f"error: node {node} may still be cordoned. The next run uncordons it, or `kubectl uncordon {node}` does.")
    if code := 128 + clock.signal if clock.signal else found.exit_code:
        raise typer.Exit(code)


def _check_cluster(plan: Plan, state: ClusterState, context: str) -> None:
    """Raise MultiarchError for a cluster none of whose nodes is of the stack."""
    from multiarch.nodes.model import NodeGroupKind

    unlabelled = any(group.kind is not NodeGroupKind.MANAGED for group in plan.node_groups)
    if state.nodes and not unlabelled and not any(node.group for node in state.nodes):
        raise MultiarchError(
            f"None of the {len(state.nodes)} nodes of context {context} is of a group or NodePool of {plan.stack}.",
            hint="Choose the stack's cluster with --context.",
        )


def _run_name() -> str:
    """A name that no other run has, and that says where this one is."""
    import secrets
    import socket

    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


commands = typer.Typer()
"""The command itself: there is nothing below it."""
commands.command("rebalance", cls=Command, help=HELP)(rebalance)
