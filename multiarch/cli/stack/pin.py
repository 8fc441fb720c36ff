"""``multiarch stack pin``: write today's AMI releases and add-on versions into the stack file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.options import stacks
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.terminal import say
from multiarch.plurals import counted

if TYPE_CHECKING:
    from pathlib import Path

    from multiarch.stack.pin import Pins

HELP = """Pin a stack to AWS's current AMI releases and add-on versions.

Writes the AMI releases that AWS recommends and the default add-on versions into the stack file. Without pins, a later
preview can replace every node. Comments in the file are kept. Needs AWS credentials with read access to SSM, EKS and
EC2.

\b
Examples:
  multiarch stack pin checkout-dev
  multiarch stack pin checkout-dev --upgrade --dry-run

Exit code: 0; 2 if the stack is invalid; 3 if AWS can't be reached or denies access."""


def pin(
    stack: StackArgument,
    *,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Also update values that are pinned.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes, and write nothing.")] = False,
    region: Annotated[
        str | None, typer.Option(metavar="REGION", help="The AWS region to ask. Default: the stack's.")
    ] = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """Pin a stack, as :data:`HELP` says."""
    from multiarch.files import write_atomically
    from multiarch.stack.pin import write_pins
    from multiarch.stack.yaml_source import shown

    path = stacks.file(stack)
    pins = _find(path, region, upgrade=upgrade)
    written = bool(pins.changes) and not dry_run
    if written:
        text = path.read_bytes().decode("utf-8")
        write_atomically(path, write_pins(text, pins.changes))
    rows = [(change.key, change.old or "", change.new, change.note) for change in pins.changes]
    rows += [(kept.key, kept.value, "", f"kept: {kept.reason}") for kept in pins.kept]
    report = Report(
        "stack-pins",
        data=lambda: {
            "file": shown(path),
            "written": written,
            "changes": [asdict(change) for change in pins.changes],
            "kept": [asdict(kept) for kept in pins.kept],
        },
        blocks=lambda: [Table(("key", "old", "new", "note"), rows)] if rows else [],
    )
    show(report, output)
    if not pins.changes:
        say(f"{shown(path)} is pinned; nothing was written.")
        return
    what = "would be written to" if dry_run else "written to"
    say(f"{counted(len(pins.changes), 'value')} {what} {shown(path)}.")


def _find(path: Path, region: str | None, *, upgrade: bool) -> Pins:
    """Plan the stack and ask AWS. An outdated pin makes a stack invalid, so an upgrade ignores pins."""
    from multiarch.aws_errors import failures_as_errors
    from multiarch.cli.aws import client
    from multiarch.stack.load import load_file
    from multiarch.stack.pin import Clients, find_pins, without_releases
    from multiarch.stack.plan import make_plan
    from multiarch.today import today

    stack = load_file(path)
    plan = make_plan(without_releases(stack) if upgrade else stack, today=today(), pinning=True)
    where = region or plan.region
    ssm, eks, ec2 = (client(name, where, region_key="aws:region in the stack file") for name in ("ssm", "eks", "ec2"))
    clients = Clients(ssm, eks, ec2)
    with failures_as_errors():
        return find_pins(stack, plan, clients, upgrade=upgrade)
