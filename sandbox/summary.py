"""The summary after a command: what exists, the outputs, what to try next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from sandbox import backend, inventory, server, state
from sandbox.layout import Layout

_SECRET_KEY = "4dabf18193072939515e22adb298388d"  # noqa: S105 (how Pulumi marks special values in a checkpoint)
_LONGEST = 100


def world(layout: Layout, url: str, region: str) -> tuple[dict[str, int], list[inventory.NodeGroup]]:
    """Count what was added to the sandbox's AWS in a region, and describe its node groups."""
    aws = inventory.Aws(url, region)
    found = inventory.without(aws.everything(), inventory.baseline(layout, aws))
    return {label: len(names) for label, names in found.items()}, aws.node_groups()


def print_world(console: Console, layout: Layout, url: str, stack: str) -> None:
    """Print counts and node groups of the stack's region, and the stack's outputs."""
    region = layout.region(stack, copied=True)
    counts, groups = world(layout, url, region)
    console.print(f"[bold]In the sandbox's AWS now[/bold] ({region}, all stacks)")
    # Where several stacks are up, groups of all of them are listed.
    console.print("  " + (", ".join(_counted(number, label) for label, number in counts.items()) or "nothing"))
    if groups:
        print_groups(console, groups)
    if recorded := releases(layout.manifests(stack)):
        console.print("[bold]Helm releases[/bold], recorded and not installed: the sandbox runs no charts")
        for line in recorded:
            console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
    outputs = backend.checkpoint(layout, stack).outputs
    if outputs:
        console.print(f"[bold]Outputs of {stack}[/bold]")
        for name, value in sorted(outputs.items()):
            console.print(f"  {escape(name)}: {escape(_short(value))}", highlight=False, soft_wrap=True)


def releases(manifests: Path) -> list[str]:
    """Name, chart and version of each Helm release that the kubernetes stand-in has recorded, sorted by file."""
    lines = []
    for file in sorted(manifests.glob("multiarch-sandbox_helmrelease_*.yaml")):
        told = yaml.safe_load(file.read_text(encoding="utf-8"))
        where = f"{told['metadata']['namespace']}/{told['metadata']['name']}"
        lines.append(f"{where}: {told['spec']['chart']} {told['spec'].get('version', '')}")
    return lines


def _counted(number: int, plural: str) -> str:
    """Say ``1 VPC``, ``2 VPCs``, ``1 access entry``: labels are plurals."""
    singular = f"{plural.removesuffix('ies')}y" if plural.endswith("ies") else plural.removesuffix("s")
    return f"{number} {singular if number == 1 else plural}"


def print_groups(console: Console, groups: list[inventory.NodeGroup]) -> None:
    """Print a table of node groups. Names are never cut, so that they can be copied."""
    columns = ("node group", "cluster", "kind", "architecture", "instance types", "min/now/max")
    rows = [
        (
            group.name,
            group.cluster,
            "managed" if group.managed else "self-managed",
            group.architecture,
            ", ".join(group.instance_types),
            f"{group.minimum}/{group.desired}/{group.maximum}",
        )
        for group in groups
    ]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for column, cells in zip(columns, zip(columns, *rows, strict=True), strict=True):
        parts = " ".join(cells).split() if column == "instance types" else cells
        table.add_column(column, min_width=max(map(len, parts)))
    for row in rows:
        table.add_row(*map(escape, row))
    width = max(console.width, Measurement.get(console, console.options, table).minimum)
    console.print(table, width=width, crop=False, soft_wrap=True)


def _short(value: Any) -> str:  # noqa: ANN401 (an output is any JSON)
    if isinstance(value, Mapping) and _SECRET_KEY in value:
        return "[secret]"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… ({len(text)} characters)"


def print_next(console: Console, stack: str) -> None:
    """Print what to try."""
    console.print(f"""[bold]Next[/bold]
  make preview STACK={stack}    shows that nothing would change
  edit config/stacks/Pulumi.{stack}.yaml, then `make preview` and `make up` again
  make up STACK=…    another stack beside this one; `make status` lists them
  eval "$(.venv/bin/python -m sandbox env {stack})"    then run `pulumi`, boto3 or `aws` by hand
  make down    destroys everything and stops what runs""", highlight=False, soft_wrap=True)  # fmt: skip


def status(layout: Layout) -> dict[str, Any]:
    """Return what runs and what exists, as JSON-able values, shape version 1.

    ``{"version", "up", "url", "server": {"pid"}, "engine": {"path", "version", "source"}, "run", "stacks": {NAME:
    {"resources", "pending", "region"}}}``; missing values are null.
    """
    known = state.load(layout)
    up = known.server is not None and server.answers(known.server)
    engine = known.engine
    stacks = {}
    for name in backend.stacks(layout):
        told = backend.checkpoint(layout, name)
        stacks[name] = {"resources": told.resources, "pending": list(told.pending)}
    return {
        "version": 1,
        "up": up,
        "url": known.server.url if known.server and up else None,
        "server": {"pid": known.server.process.pid} if known.server and up else None,
        "engine": engine and {"path": str(engine.path), "version": engine.version, "source": engine.source},
        "run": known.run.what if known.run else None,
        "stacks": stacks,
    }
