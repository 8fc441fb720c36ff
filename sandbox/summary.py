"""The summary after a command: what exists, the outputs, what to try next."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.markup import escape

from multiarch.cli.formats import Format, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.lines import wrap_lines
from multiarch.observed.eks.model import ObservedGroup
from multiarch.runs import eks_clusters
from sandbox import backend, inventory
from sandbox.cluster import images, lifecycle
from sandbox.layout import Layout

_SECRET_KEY = "4dabf18193072939515e22adb298388d"  # noqa: S105 (how Pulumi marks special values in a checkpoint)
_SAID_ALREADY = "warnings"  # the output of the program with what `up` has printed as warnings


def print_world(console: Console, layout: Layout, url: str, stacks: Sequence[str]) -> None:
    """Print what AWS has in all regions, and of ``stacks`` node groups, releases and outputs.

    Node groups that no stack's outputs name belong to a stack that is not complete: they are listed too.
    """
    regions = [inventory.Aws(url, region) for region in inventory.regions(layout)]
    held = {aws.region: aws.everything() for aws in regions}
    console.print("[bold]In the sandbox's AWS now[/bold] (all stacks)")
    for region, found in held.items():
        _print_counts(console, region, {label: found[label] for label in found if label not in inventory.EVERYWHERE})
    # What is everywhere is the same from each region.
    found = next(iter(held.values()), {})
    _print_counts(console, "all regions", {label: found[label] for label in found if label in inventory.EVERYWHERE})
    others = {_cluster(layout, name) for name in backend.stacks(layout) if name not in stacks}
    for aws in regions:
        for cluster in held[aws.region].get(inventory.CLUSTERS, ()):
            if cluster not in others:
                print_groups(cluster, eks_clusters.read_node_groups(aws.client, cluster))
    for name in stacks:
        _print_stack(console, layout, name)


def _cluster(layout: Layout, stack: str) -> str | None:
    cluster = backend.checkpoint(layout, stack).outputs.get("cluster")
    return cluster.get("name") if isinstance(cluster, Mapping) else None


def _print_counts(console: Console, where: str, found: Mapping[str, Sequence[str]]) -> None:
    counts = ", ".join(inventory.counted(len(names), label) for label, names in found.items())
    for line in wrap_lines(f"{where}: {counts or 'nothing'}", console.width, first="  ", others="    "):
        console.print(line, highlight=False, soft_wrap=True)


def _print_stack(console: Console, layout: Layout, stack: str) -> None:
    if recorded := releases(layout.manifests(stack)):
        text = f"[bold]Helm releases of {stack}[/bold], recorded and not installed"
        console.print(text, soft_wrap=True)
        for line in recorded:
            console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
    outputs = backend.checkpoint(layout, stack).outputs
    if outputs:
        console.print(f"[bold]Outputs of {stack}[/bold]")
    for name, value in sorted(outputs.items()):
        if name != _SAID_ALREADY:
            room = max(console.width - len(f"  {name}: … (100000 characters)"), 20)
            console.print(f"  {escape(name)}: {escape(_short(value, room))}", highlight=False, soft_wrap=True)


def releases(manifests: Path) -> list[str]:
    """Name, chart and version of each Helm release that the kubernetes stand-in has recorded, sorted by file."""
    lines = []
    for file in sorted(manifests.glob("multiarch-sandbox_helmrelease_*.yaml")):
        told = yaml.safe_load(file.read_text(encoding="utf-8"))
        where = f"{told['metadata']['namespace']}/{told['metadata']['name']}"
        lines.append(f"{where}: {told['spec']['chart']} {told['spec'].get('version', '')}")
    return lines


def print_groups(cluster: str, groups: Sequence[ObservedGroup]) -> None:
    """Print a table of a cluster's node groups."""
    columns = ("node group", "kind", "architecture", "instance types", "min/now/max")
    table = Table(columns, list(map(_row, groups)), f"Node groups of {cluster}")
    print_report(Report("node-groups", {}, blocks=lambda: [table] if groups else []), Format.TABLE)


def _row(group: ObservedGroup) -> tuple[str, ...]:
    architecture = str(group.architecture or "unknown")
    return (
        group.name, str(group.kind), architecture, ", ".join(group.instance_types), "/".join(map(str, group.sizes))
    )  # fmt: skip


def _short(value: Any, room: int) -> str:  # noqa: ANN401 (an output is any JSON)
    if isinstance(value, Mapping) and _SECRET_KEY in value:
        return "[secret]"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    line = " ".join(text.split())
    return line if len(line) <= room else f"{line[:room]}… ({len(text)} characters)"


def print_next(console: Console, stack: str, *, private: bool = False) -> None:
    """Print what to try; ``private``: in AWS, the stack's API could not be reached when it is created."""
    in_aws = "\n  in AWS:                two runs, see docs/how-to/private-clusters.md"
    console.print(f"""[bold]Next[/bold]
  change the stack:      edit config/stacks/Pulumi.{stack}.yaml
  what would change:     make preview STACK={stack}
  a stack beside it:     make up STACK=…; make status lists them
  pulumi, pin, doctor:   eval "$(.venv/bin/python -m sandbox env {stack})"
  take everything down:  make down{in_aws if private else ""}""", highlight=False, soft_wrap=True)  # fmt: skip


def print_registry(layout: Layout, runnable: Callable[[str], str]) -> None:
    """Print commands to try on the demo's registry; ``runnable`` names our command as a shell finds it."""
    hosts = layout.registry.relative_to(layout.root)
    commands = f"""\
multiarch audit images --manifests examples/pods.yaml --hosts-dir {hosts}
multiarch image inspect registry.example.com/payments/api:2.4.0 --hosts-dir {hosts}
multiarch image verify registry.example.com/payments/gateway:1.8.0 --platform linux/arm64 --hosts-dir {hosts}
multiarch cost payments-prod --prices examples/prices.json --manifests examples/pods.yaml --hosts-dir {hosts}"""
    print(runnable(commands))


def print_cluster(found: lifecycle.Status) -> None:
    """Print what runs in the cluster of real nodes, and where its kubeconfig is."""
    print(f"Kubernetes {found.kubernetes}, ready in {found.seconds} s")
    for name, architecture in found.nodes.items():
        print(f"  {name}: {architecture}")
    if found.missing:
        print(f"no emulated node: {found.missing}")
    print(f"export KUBECONFIG={found.kubeconfig}")


def print_next_in_cluster(found: lifecycle.Status) -> None:
    """Print what to try in the cluster of real nodes, as lines for a shell."""
    api = f"kubectl create deployment api --replicas 4 \\\n    --image {images.BOTH}"
    print(f"""
Next
  # see the nodes
  kubectl get nodes -L kubernetes.io/arch -o wide
  # start a few pods
  {api}
  # let them onto arm64 nodes
  {api} --dry-run=client -o yaml \\
    | .venv/bin/multiarch workload patch --manifests - --tolerate arm64 \\
    | kubectl apply -f -
  # see what they print; an image that is wrong for arm64 is
  # {images.BROKEN}
  kubectl logs -l app=api --prefix
  # see what to change, and where
  .venv/bin/multiarch audit workloads \\
    --hosts-dir {found.hosts}
  # stop the cluster
  make cluster-down""")
