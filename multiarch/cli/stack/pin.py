"""``multiarch stack pin``: write the image releases and add-on versions of today into the stack file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli import stack_files
from multiarch.cli.output import Output, OutputOption, counted, print_json, print_table, say

if TYPE_CHECKING:
    from pathlib import Path

    from multiarch.stack.pin import Pins


def pin(
    stack: Annotated[str, typer.Argument(metavar="STACK|FILE", help="A stack's name or file.")],
    *,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Renew what is pinned already.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
    region: Annotated[str | None, typer.Option(help="The AWS region to ask. Default: the stack's.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write AWS's recommended AMI releases and default add-on versions into the stack file, keeping its comments.

    Unpinned, a preview next month can replace every node. Asks AWS: credentials with read access are needed.
    """
    from multiarch.cli.files import write_atomically
    from multiarch.stack.pin import write_pins
    from multiarch.stack.yaml_source import shown

    path = stack_files.file(stack)
    pins = _find(path, region, upgrade=upgrade)
    if pins.changes and not dry_run:
        text = path.read_bytes().decode("utf-8")
        write_atomically(path, write_pins(text, pins.changes))
    if output is Output.JSON:
        content = {
            "file": shown(path),
            "written": bool(pins.changes) and not dry_run,
            "changes": [asdict(change) for change in pins.changes],
            "kept": [asdict(kept) for kept in pins.kept],
        }
        print_json("stack-pins", content)
        return
    rows = [(change.key, change.old or "", change.new, change.note) for change in pins.changes]
    rows += [(kept.key, kept.value, "", f"kept: {kept.reason}") for kept in pins.kept]
    if rows:
        print_table(("KEY", "OLD", "NEW", "NOTE"), rows)
    if not pins.changes:
        say(f"{shown(path)} is pinned; nothing was written.")
        return
    what = "would be written to" if dry_run else "written to"
    say(f"{counted(len(pins.changes), 'value')} {what} {shown(path)}.")


def _find(path: Path, region: str | None, *, upgrade: bool) -> Pins:
    """Plan the stack and ask AWS. An outdated pin refuses a stack, so for an upgrade pins do not count."""
    from multiarch.cli.aws import client, failures_as_errors
    from multiarch.stack.load import load_file
    from multiarch.stack.pin import Clients, find_pins, without_releases
    from multiarch.stack.plan import make_plan
    from multiarch.today import today

    stack = load_file(path)
    plan = make_plan(without_releases(stack) if upgrade else stack, today=today())
    where = region or plan.region
    clients = Clients(client("ssm", where), client("eks", where), client("ec2", where))
    with failures_as_errors():
        return find_pins(stack, plan, clients, upgrade=upgrade)
