"""``multiarch simulate``: which nodes a set of pods would get, and why, before anything is paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli import stack_files
from multiarch.cli.kubernetes import ContextOption, KubeconfigOption, NamespacesOption, SelectorOption, cluster_options
from multiarch.cli.output import Output, OutputOption, counted, print_json, print_table, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multiarch.simulate.model import GroupOutcome, Simulation, WorkloadOutcome

_GATED = "with a scheduling gate"


def simulate(
    stack: Annotated[str, typer.Argument(metavar="STACK|FILE", help="A stack's name or file.")],
    *,
    pods: Annotated[
        list[str] | None,
        typer.Option(
            "--pods", metavar="FILE", help="Manifests of pods: a YAML or JSON file, a folder, or -. May be repeated."
        ),
    ] = None,
    pending: Annotated[
        bool, typer.Option("--pending", help="The pods that wait for a node in a live cluster.")
    ] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespacesOption = None,
    selector: SelectorOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say which nodes pods would get and why; exit with 1 when some get none.

    Give the pods one of two ways.

    --pods FILE: manifests are what kubectl applies or prints: Deployments, Jobs, bare pods and all others that make
    pods. DaemonSets among them take their part of every node.

    --pending: reads pods without a node from the cluster of --kubeconfig and --context, and its DaemonSets and nodes.
    Nothing is written there.
    """
    from dataclasses import replace

    from multiarch.cli.simulate import source
    from multiarch.kubernetes.access import ClusterAccess
    from multiarch.simulate.simulation import simulate as run

    given = cluster_options(kubeconfig=kubeconfig, context=context, namespace=namespace, selector=selector)
    source.only_one(pods or [], pending=pending, cluster_options=given)
    plan = stack_files.planned(stack_files.file(stack))[1]
    if pods:
        asked = source.from_manifests(plan, pods)
    else:
        access = ClusterAccess(kubeconfig, context)
        asked = source.from_cluster(plan, access, namespaces=namespace or None, selector=selector or "")
    result = run(plan.autoscaling, plan.node_groups, asked.context, asked.pods)
    if asked.gated:
        result = replace(result, left_out=(*result.left_out, (_GATED, asked.gated)))
    if output is Output.JSON:
        print_json("simulation", _as_json(plan.stack, result, asked.without_pods))
    else:
        _show(plan.stack, result, asked.without_pods)
    if result.unplaced:
        raise typer.Exit(1)


def _show(stack: str, result: Simulation, without_pods: Sequence[tuple[str, int]]) -> None:
    from multiarch.cli.simulate.source import without_pods_in_words

    total = sum(workload.pods for workload in result.workloads)
    new = sum(group.new for group in result.groups)
    there = sum(group.existing for group in result.groups)
    typer.echo(
        f"{stack}, {result.autoscaler}: {counted(total, 'pod')}, {total - result.unplaced} placed; "
        f"{counted(new, 'new node')} beside {there} that are there"
    )
    for count, which in ((count, which) for which, count in result.left_out):
        typer.echo(f"left out: {counted(count, 'pod')} {which}")
    if without_pods:
        typer.echo(without_pods_in_words(without_pods))
    for workload in result.workloads:
        _show_workload(workload)
    typer.echo("\nNodes")
    columns = ("GROUP", "WHAT", "THERE", "NEW", "PODS", "NEW NODES")
    print_table(columns, [_group_row(group) for group in result.groups])
    # In a table of its own: together they would be wider than most terminals.
    if used := [_use_row(group) for group in result.groups if group.cpu_allocatable]:
        typer.echo("\nCPU and memory")
        print_table(("GROUP", "CPU ASKED/GIVEN", "WASTE", "MEMORY ASKED/GIVEN", "WASTE"), used)
    typer.echo("\nNot modelled, or assumed")
    for note in result.notes:
        typer.echo(f"- {note}")
    if result.unplaced:
        say(f"{counted(result.unplaced, 'pod')} got no node.")


def _show_workload(workload: WorkloadOutcome) -> None:
    typer.echo(f"\n{workload.namespace} {workload.name}: {counted(workload.pods, 'pod')}{_unplaced(workload)}")
    rows = [
        (str(answer.rank or ""), answer.group, str(answer.pods or ""), answer.reason) for answer in workload.answers
    ]
    print_table(("TRY", "GROUP", "PODS", "WHY NOT, OR NO MORE"), rows)
    for note in workload.notes:
        typer.echo(f"not modelled: {note}")


def _unplaced(workload: WorkloadOutcome) -> str:
    return f", {len(workload.unplaced)} without a node" if workload.unplaced else ""


def _group_row(group: GroupOutcome) -> tuple[str, ...]:
    types = ", ".join(f"{count} {name}" for name, count in group.instance_types)
    preference = "" if group.preference is None else f" {group.preference}"
    return (
        group.name,
        f"{group.kind}{preference}",
        str(group.existing),
        str(group.new),
        str(group.pods),
        types,
    )


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


def _as_json(stack: str, result: Simulation, without_pods: Sequence[tuple[str, int]]) -> dict[str, object]:
    return {
        "stack": stack,
        "autoscaler": result.autoscaler,
        "pods": sum(workload.pods for workload in result.workloads),
        "unplaced": result.unplaced,
        "leftOut": [{"why": which, "pods": count} for which, count in result.left_out],
        "withoutPods": [{"kind": kind, "objects": count} for kind, count in without_pods],
        "workloads": [_workload_as_json(workload) for workload in result.workloads],
        "groups": [_group_as_json(group) for group in result.groups],
        "notes": list(result.notes),
    }


def _workload_as_json(workload: WorkloadOutcome) -> dict[str, object]:
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


def _group_as_json(group: GroupOutcome) -> dict[str, object]:
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
