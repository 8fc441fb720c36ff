"""``multiarch facts``: the tables everything is derived from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.output import Output, OutputOption, print_json, print_table, say

commands = typer.Typer(help="Rebuild the tables of facts.", no_args_is_help=True)


@commands.callback()
def _facts() -> None:
    """Rebuild the tables of facts."""


@commands.command()
def refresh(
    *,
    region: Annotated[str | None, typer.Option(help="The AWS region to ask. Default: the environment's.")] = None,
    merge: Annotated[
        bool, typer.Option("--merge/--replace", help="Keep types that the region does not offer, or drop them.")
    ] = True,
    file: Annotated[
        Path | None, typer.Option(help="The table to rebuild. Default: the installed package's own.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rebuild the instance-type table through EC2's DescribeInstanceTypes."""
    from multiarch.cli.aws import client, failures_as_errors
    from multiarch.errors import MultiarchError
    from multiarch.facts.instance_types import DATA_FILE
    from multiarch.facts.refresh import refresh_file

    table = file or DATA_FILE
    if not table.parent.is_dir():
        raise MultiarchError(f"{table} can't be written: there is no folder {table.parent}.")
    ec2 = client("ec2", region)
    try:
        with failures_as_errors():
            report = refresh_file(ec2, table, merge=merge)
    except OSError as error:
        raise MultiarchError(f"{table} can't be written: {error.strerror or error}.") from error
    changes = {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "kept": report.kept,
    }
    if output is Output.JSON:
        print_json("facts-refresh", {"file": str(table), **changes})
        return
    rows = [(what, name) for what, names in changes.items() if what != "kept" for name in names]
    if rows:
        print_table(("change", "instance type"), rows)
    kept = f"; {len(report.kept)} that the region does not offer stay as they were" if report.kept else ""
    say(f"{table}: {', '.join(f'{len(changes[what])} {what}' for what in ('added', 'changed', 'removed'))}{kept}.")
