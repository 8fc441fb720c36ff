"""``multiarch stack pin``: write today's images and add-on versions into the stack file."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.terminal import print_message, print_notes
from multiarch.plurals import format_count
from multiarch.runs.stack_changes import pin_stack
from multiarch.runs.stacks import find_file
from multiarch.stack.engine_config import format_scalar
from multiarch.stack.pin import PinValue

HELP = """Pin a stack to AWS's current images and add-on versions.

For a stack on an existing cluster, also write what the plan needs of the cluster: its version, authentication mode, IP
family and private subnets.

Writes the images that AWS recommends, with their releases, and the default add-on versions into the stack file. Without
pins, a later preview can replace every node. For add-ons with configurationValues, AWS's schema of these goes into
addon-schemas beside the stack file. If ami.release is already set, only its ami.id is added. An existing
managed node group is replaced when ami.id is added to it. Comments in the file are kept. Needs AWS credentials with
read access to SSM, EKS and EC2.

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
        str | None, typer.Option(metavar="REGION", help="The AWS region to query. Default: the stack's.")
    ] = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """Pin a stack, as :data:`HELP` says."""
    pins = pin_stack(find_file(stack, get_chosen_project()), region, upgrade=upgrade, dry_run=dry_run)
    rows = [(change.key, _spell(change.old), _spell(change.new), change.note) for change in pins.changes]
    rows += [(kept.key, kept.value, "", f"kept: {kept.reason}") for kept in pins.kept]
    columns = ("key", "old", "new", "note")
    print_report(Report("stack-pins", data=pins, blocks=lambda: [Table(columns, rows)] if rows else []), output)
    what = "would be written" if dry_run else "written"
    for file in pins.schemas:
        print_message(f"The schema of an add-on's configurationValues {what} to {file}.")
    if not pins.changes:
        if not pins.schemas:
            print_message(f"{pins.file} is pinned; nothing was written.")
        return
    print_message(f"{format_count(len(pins.changes), 'value')} {what} to {pins.file}.")
    if any(change.key.endswith(".id") and change.old is None for change in pins.changes):
        note = "If the stack is up: a managed group that runs without ami.id is replaced when it gets one. If it was "
        note += "last updated with an earlier version of multiarch-eks, run `pulumi up` with this one first: otherwise "
        print_notes([f"{note}Pulumi updates the group in place, and EKS rejects that."])


def _spell(value: PinValue | None) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(format_scalar(value))
