"""``multiarch simulate``: which nodes a set of pods would get, and why."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.amounts import as_json
from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Report
from multiarch.cli.options import stacks, with_groups
from multiarch.cli.options.cluster import ClusterOptions
from multiarch.cli.options.prices import PriceOptions
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.terminal import say
from multiarch.cli.usage import Command
from multiarch.facts.architectures import Architecture
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.cli.simulate.blocks import Shown
    from multiarch.cost.simulated import SimulatedCosts
    from multiarch.simulate.model import GroupOutcome, WorkloadOutcome

_GATED = "with a scheduling gate"
HELP = """Show which nodes pods would get, and why.

No node needs to exist yet. The pods come from manifests or from a live cluster:

--pods FILE reads manifests that kubectl applies or prints: Deployments, Jobs, bare pods and everything else that
creates pods. DaemonSets among them take their share of every node.

--pending reads the pods without a node, the DaemonSets and the nodes of the cluster of --kubeconfig and --context.
Nothing is written to the cluster.

With --prices the result has costs, and Karpenter buys the cheapest instance type that holds a node's pods; without, the
smallest is named.

\b
Examples:
  multiarch simulate payments-prod --pods examples/pods.yaml
  multiarch simulate payments-prod --pods examples/pods.yaml --prefer arm64 --explain
  helm template shop ./chart | multiarch simulate checkout-dev --pods - --output json
  multiarch simulate checkout-dev --pending --context production
  multiarch simulate payments-prod --pods examples/pods.yaml --prices prices.json

Exit code: 0; 1 if a pod gets no node; 2 for invalid input; 3 if the cluster can't be reached."""


@with_groups
def simulate(
    stack: StackArgument,
    *,
    pods: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Manifests of pods: a YAML or JSON file, a folder, or -. May be repeated."),
    ] = None,
    pending: Annotated[bool, typer.Option("--pending", help="The pods without a node in a live cluster.")] = False,
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
    from dataclasses import replace

    from multiarch.cli.simulate import source
    from multiarch.cli.simulate.blocks import Shown, blocks
    from multiarch.cost.simulated import simulated_costs
    from multiarch.simulate.preference import with_preference
    from multiarch.simulate.simulation import simulate_nodes

    source.check(pods or [], cluster.given, pending=pending)
    plan = stacks.plan_of(stack)
    pricing = cost.pricing(plan.region)
    asked = source.from_manifests(plan, pods) if pods else source.from_cluster(plan, cluster)
    wanted = with_preference(asked.pods, prefer) if prefer else asked.pods
    context = asked.context if pricing is None else replace(asked.context, prices=pricing.known)
    settled = simulate_nodes(plan.autoscaling, plan.node_groups, context, wanted)
    result = settled.simulation
    if asked.gated:
        result = replace(result, left_out=(*result.left_out, (_GATED, asked.gated)))
    shown = Shown(
        plan.stack,
        result,
        plan.arm64_taint,
        asked.without_pods,
        None if pricing is None else simulated_costs(plan, pricing, settled),
        explain=explain,
        only_unplaced=only_unplaced,
        prefer=prefer,
    )
    report = Report("simulation", data=partial(_data, shown), blocks=partial(blocks, shown))
    show(report, output)
    if result.unplaced:
        say(f"{counted(result.unplaced, 'pod')} got no node.")
        raise typer.Exit(1)


def _data(shown: Shown) -> dict[str, object]:
    result = shown.result
    return {
        "stack": shown.stack,
        "autoscaler": result.autoscaler,
        "pods": sum(workload.pods for workload in result.workloads),
        "unplaced": result.unplaced,
        "leftOut": [{"why": which, "pods": count} for which, count in result.left_out],
        "withoutPods": [{"kind": kind, "objects": count} for kind, count in shown.without_pods],
        "workloads": [_workload_data(workload) for workload in shown.workloads],
        "daemonSets": [
            {"name": each.name, "namespace": each.namespace, "nodes": each.nodes} for each in result.daemon_sets
        ],
        "groups": [_group_data(group) for group in result.groups],
        "cost": None if shown.costs is None else _cost_data(shown.costs),
        "notes": [*result.notes, *result.limits],
    }


def _workload_data(workload: WorkloadOutcome) -> dict[str, object]:
    return {
        "name": workload.name,
        "namespace": workload.namespace,
        "pods": workload.pods,
        "groups": [
            {
                "name": answer.group,
                "rank": answer.rank,
                "usable": answer.usable,
                "pods": answer.pods,
                "reason": answer.reason,
            }
            for answer in workload.answers
        ],
        "places": [
            {"pod": place.pod, "group": place.group, "node": place.node, "new": place.new} for place in workload.places
        ],
        "unplaced": list(workload.unplaced),
        "onAmd64": workload.on_amd64,
        "notModelled": list(workload.notes),
    }


def _group_data(group: GroupOutcome) -> dict[str, object]:
    return {
        "name": group.name,
        "kind": group.kind,
        "scaledBy": group.scaled_by,
        "preference": group.preference,
        "there": group.existing,
        "new": group.new,
        "maxSize": group.max_size,
        "instanceTypes": dict(group.instance_types),
        "pods": group.pods,
        "cpuMillicores": {
            "requested": group.cpu_requested,
            "allocatable": group.cpu_allocatable,
            "waste": group.cpu_waste,
        },
        "memoryBytes": {
            "requested": group.memory_requested,
            "allocatable": group.memory_allocatable,
            "waste": group.memory_waste,
        },
    }


def _cost_data(costs: SimulatedCosts) -> dict[str, object]:
    return {
        "currency": costs.currency or None,
        "pricesFetchedAt": None if costs.prices is None else f"{costs.prices:%Y-%m-%dT%H:%M:%SZ}",
        "monthly": as_json(costs.monthly),
        "monthlyOfNewNodes": as_json(costs.of_new_nodes),
        "groups": [{"name": group, "monthly": as_json(amount)} for group, amount in costs.groups],
        "unknown": list(costs.unknown),
    }


commands = typer.Typer()
"""The command itself: there is nothing below it."""
commands.command("simulate", cls=Command, help=HELP)(simulate)
