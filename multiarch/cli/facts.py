"""``multiarch facts``: the tables that everything is derived from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiarch.aws_errors import open_clients, translate_failures
from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.terminal import print_message
from multiarch.errors import MultiarchError
from multiarch.facts.instance_types import DATA_FILE
from multiarch.facts.refresh import update_file

HELP = """Refresh the tables of instance types and regions from EC2.

Needs AWS credentials that may call DescribeInstanceTypes and DescribeRegions.

\b
Examples:
  multiarch facts refresh --region eu-west-1
  multiarch facts refresh --region eu-west-1 --replace --file instance_types.csv

Exit code: 0; 2 if the table can't be written; 3 if AWS can't be reached or denies access."""


def refresh(
    *,
    region: Annotated[
        str | None, typer.Option(metavar="REGION", help="The AWS region to query. Default: the environment's.")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge/--replace", help="Keep or drop types that the region does not offer.")
    ] = True,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The table to refresh; regions.csv is written beside it. Default: the installed package's.",
        ),
    ] = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """Refresh the tables, as :data:`HELP` says."""
    table = file or DATA_FILE
    if not table.parent.is_dir():
        raise MultiarchError(f"{table} can't be written: there is no folder {table.parent}.")
    ec2 = open_clients(region)("ec2")
    with translate_failures():
        report = update_file(ec2, table, merge=merge)
    changes = {"added": report.added, "changed": report.changed, "removed": report.removed}
    rows = [(change, name) for change, names in changes.items() for name in names]
    rows += [("new region", name) for name in report.regions]
    print_report(
        Report(
            "facts-refresh",
            data={"file": table, **changes, "kept": report.kept, "regions": report.regions},
            blocks=lambda: [Table(("change", "name"), rows)] if rows else [],
        ),
        output,
    )
    kept = f"; kept {len(report.kept)} that the region does not offer" if report.kept else ""
    regions = f"; new regions: {', '.join(report.regions)}" if report.regions else ""
    print_message(
        f"{table}: {', '.join(f'{len(names)} {change}' for change, names in changes.items())}{kept}{regions}."
    )
