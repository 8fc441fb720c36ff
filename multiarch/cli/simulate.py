"""``multiarch simulate``: which nodes a set of pods would get, and why, before anything is paid for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli import finding
from multiarch.cli.output import Output, OutputOption, counted, print_json, print_table, say
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.autoscaling.simulate import Surroundings
    from multiarch.autoscaling.simulate_model import GroupOutcome, Simulation, WorkloadOutcome
    from multiarch.stack.model import Plan
    from multiarch.workloads.manifest_values import ManifestError


def simulate(
    stack: Annotated[str, typer.Argument(metavar="STACK|FILE", help="A stack's name or file.")],
    *,
    pods: Annotated[
        list[Path], typer.Option("--pods", metavar="FILE", help="Manifests of pods, YAML or JSON; may be repeated.")
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Say which nodes pods would get and why; exit with 1 when some get none.

    Manifests are what kubectl applies or prints: Deployments, Jobs, bare pods and all others that make pods.
    DaemonSets among them take their part of every node. Pods that wait in a live cluster are not read from there:
    `kubectl get pods -A -o json` writes them to a file.
    """
    from multiarch.autoscaling.simulate import simulate as run
    from multiarch.workloads.manifest_values import ManifestError
    from multiarch.workloads.pods import pods_from

    plan = finding.planned(finding.file(stack))[1]
    documents = [(path, document) for path in pods for document in _documents(path)]
    try:
        found = list(pods_from(document for _, document in documents))
    except ManifestError as error:
        raise _placed(error, [path for path, _ in documents]) from error
    result = run(plan.autoscaling, plan.node_groups, surroundings(plan), found)
    if output is Output.JSON:
        print_json("simulation", _as_json(plan.stack, result))
    else:
        _show(plan.stack, result)
    if result.unplaced:
        raise typer.Exit(1)


def surroundings(plan: Plan) -> Surroundings:
    """The zones of a stack's network, as far as they are known before it exists."""
    from multiarch.autoscaling.simulate import Surroundings
    from multiarch.stack.model import ExistingNetwork

    network = plan.network
    if isinstance(network, ExistingNetwork):
        count, why = len(network.private_subnet_ids), "One zone is assumed for each private subnet"
    elif network.zones:
        return Surroundings(network.zones)
    else:
        count, why = network.zone_count, "The stack does not name its zones"
    names = tuple(f"zone-{number}" for number in range(1, count + 1))
    return Surroundings(names, f"{why}; {', '.join(names)} stand for them.")


def _placed(error: ManifestError, files: list[Path]) -> MultiarchError:
    """The error with its file, and the document's number in that file."""
    file = files[error.document - 1]
    number = error.document - files.index(file)
    rest = error.message.removeprefix(f"document {error.document}")
    return MultiarchError(f"{file}, document {number}{rest}", hint=error.hint)


def _documents(path: Path) -> Iterator[object]:
    """Read a file's documents. Raises MultiarchError for one that is neither YAML nor JSON, naming the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MultiarchError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}.") from error
    if text.lstrip().startswith(("{", "[")):
        try:
            found = json.loads(text)
        except ValueError:
            # Flow-style YAML begins like JSON.
            pass
        else:
            return iter(found if isinstance(found, list) else [found])
    return _yaml(path, text)


def _yaml(path: Path, text: str) -> Iterator[object]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        yield from YAML(typ="safe", pure=True).load_all(text)
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise MultiarchError(f"{path}{line} is no YAML: {error.problem}.") from error
    except YAMLError as error:
        raise MultiarchError(f"{path} is no YAML: {error}.") from error


def _show(stack: str, result: Simulation) -> None:
    total = sum(workload.pods for workload in result.workloads)
    new = sum(group.new for group in result.groups)
    there = sum(group.there for group in result.groups)
    typer.echo(
        f"{stack}, {result.autoscaler}: {counted(total, 'pod')}, {total - result.unplaced} placed; "
        f"{counted(new, 'new node')} beside {there} that are there"
    )
    for count, which in ((count, which) for which, count in result.left_out):
        typer.echo(f"left out: {counted(count, 'pod')} {which}")
    for workload in result.workloads:
        _show_workload(workload)
    typer.echo("\nNodes")
    columns = ("GROUP", "WHAT", "THERE", "NEW", "PODS", "NEW NODES", "CPU ASKED/GIVEN", "WASTE", "MEMORY", "WASTE")
    print_table(columns, [_group_row(group) for group in result.groups])
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
    from multiarch.workloads.quantities import bytes_in_words, cpu_in_words

    types = ", ".join(f"{count} {name}" for name, count in group.instance_types)
    preference = "" if group.preference is None else f" {group.preference}"
    return (
        group.name,
        f"{group.kind}{preference}",
        str(group.there),
        str(group.new),
        str(group.pods),
        types,
        f"{cpu_in_words(group.cpu_requested)}/{cpu_in_words(group.cpu_allocatable)}",
        _part(group.cpu_waste, group.cpu_allocatable),
        f"{bytes_in_words(group.memory_requested)}/{bytes_in_words(group.memory_allocatable)}",
        _part(group.memory_waste, group.memory_allocatable),
    )


def _part(waste: int, whole: int) -> str:
    return f"{100 * waste / whole:.0f}%" if whole else ""


def _as_json(stack: str, result: Simulation) -> dict[str, object]:
    return {
        "stack": stack,
        "autoscaler": result.autoscaler,
        "pods": sum(workload.pods for workload in result.workloads),
        "unplaced": result.unplaced,
        "leftOut": [{"why": which, "pods": count} for which, count in result.left_out],
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
        "there": group.there,
        "new": group.new,
        "maxSize": group.most,
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
