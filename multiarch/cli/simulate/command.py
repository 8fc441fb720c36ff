"""``multiarch simulate``: which nodes a set of pods would get, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Block, Items, Report, Table
from multiarch.cli.options import stacks, with_groups
from multiarch.cli.options.cluster import ClusterOptions
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.terminal import counted, say
from multiarch.cli.usage import Command

if TYPE_CHECKING:
    from multiarch.simulate.model import GroupOutcome, Simulation, WorkloadOutcome

_GATED = "with a scheduling gate"
HELP = """Show which nodes pods would get, and why.

No node needs to exist yet. The pods come from manifests or from a live cluster:

--pods FILE reads manifests that kubectl applies or prints: Deployments, Jobs, bare pods and everything else that
creates pods. DaemonSets among them take their share of every node.

--pending reads the pods without a node, the DaemonSets and the nodes of the cluster of --kubeconfig and --context.
Nothing is written to the cluster.

\b
Examples:
  multiarch simulate payments-prod --pods examples/pods.yaml
  helm template shop ./chart | multiarch simulate checkout-dev --pods - --output json
  multiarch simulate checkout-dev --pending --context production

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
    output: OutputOption = Format.TABLE,
) -> None:
    """Simulate, as :data:`HELP` says."""
    from dataclasses import replace

    from multiarch.cli.simulate import source
    from multiarch.simulate.simulation import simulate as run

    source.check(pods or [], cluster.given, pending=pending)
    plan = stacks.plan_of(stack)
    asked = source.from_manifests(plan, pods) if pods else source.from_cluster(plan, cluster)
    result = run(plan.autoscaling, plan.node_groups, asked.context, asked.pods)
    if asked.gated:
        result = replace(result, left_out=(*result.left_out, (_GATED, asked.gated)))
    report = Report(
        "simulation",
        data=partial(_data, plan.stack, result, asked.without_pods),
        blocks=partial(_blocks, plan.stack, result, asked.without_pods),
    )
    show(report, output)
    if result.unplaced:
        say(f"{counted(result.unplaced, 'pod')} got no node.")
        raise typer.Exit(1)


def _blocks(stack: str, result: Simulation, without_pods: Sequence[tuple[str, int]]) -> Iterator[Block]:
    from multiarch.cli.simulate.source import describe_without_pods

    total = sum(workload.pods for workload in result.workloads)
    new = sum(group.new for group in result.groups)
    there = sum(group.existing for group in result.groups)
    yield (
        f"{stack}, {result.autoscaler}: {counted(total, 'pod')}, {total - result.unplaced} placed; "
        f"{counted(new, 'new node')}, {there} existing"
    )
    for which, count in result.left_out:
        yield f"left out: {counted(count, 'pod')} {which}"
    if without_pods:
        yield describe_without_pods(without_pods)
    for workload in result.workloads:
        yield _workload_table(workload)
        yield from (f"not modelled: {note}" for note in workload.notes)
    columns = ("group", "kind", "existing", "new", "pods", "new nodes")
    yield Table(columns, [_group_row(group) for group in result.groups], "Nodes")
    # In a table of its own: together they would be wider than most terminals.
    if used := [_use_row(group) for group in result.groups if group.cpu_allocatable]:
        yield Table(("group", "CPU used/total", "waste", "memory used/total", "waste"), used, "CPU and memory")
    yield Items("Not modelled, or assumed", result.notes)


def _workload_table(workload: WorkloadOutcome) -> Table:
    rows = [
        (str(answer.rank or ""), answer.group, str(answer.pods or ""), answer.reason) for answer in workload.answers
    ]
    title = f"{workload.namespace} {workload.name}: {counted(workload.pods, 'pod')}{_unplaced(workload)}"
    return Table(("try", "group", "pods", "reason"), rows, title)


def _unplaced(workload: WorkloadOutcome) -> str:
    return f", {len(workload.unplaced)} without a node" if workload.unplaced else ""


def _group_row(group: GroupOutcome) -> tuple[str, ...]:
    types = ", ".join(f"{count} {name}" for name, count in group.instance_types)
    preference = "" if group.preference is None else f" {group.preference}"
    return (group.name, f"{group.kind}{preference}", str(group.existing), str(group.new), str(group.pods), types)


def _use_row(group: GroupOutcome) -> tuple[str, ...]:
    from multiarch.manifests.quantities import bytes_in_words, cpu_in_words

    return (
        group.name,
        f"{cpu_in_words(group.cpu_requested)}/{cpu_in_words(group.cpu_allocatable)}",
        _part(group.cpu_waste, group.cpu_allocatable),
        f"{bytes_in_words(group.memory_requested)}/{bytes_in_words(group.memory_allocatable)}",
        _part(group.memory_waste, group.memory_allocatable),
    )


def _part(waste: int, whole: int) -> str:
    return f"{100 * waste / whole:.0f}%" if whole else ""


def _data(stack: str, result: Simulation, without_pods: Sequence[tuple[str, int]]) -> dict[str, object]:
    return {
        "stack": stack,
        "autoscaler": result.autoscaler,
        "pods": sum(workload.pods for workload in result.workloads),
        "unplaced": result.unplaced,
        "leftOut": [{"why": which, "pods": count} for which, count in result.left_out],
        "withoutPods": [{"kind": kind, "objects": count} for kind, count in without_pods],
        "workloads": [_workload_data(workload) for workload in result.workloads],
        "groups": [_group_data(group) for group in result.groups],
        "notes": list(result.notes),
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


commands = typer.Typer()
"""The command itself: there is nothing below it."""
commands.command("simulate", cls=Command, help=HELP)(simulate)
