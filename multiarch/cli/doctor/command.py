"""``multiarch doctor``: what would stop `pulumi up`, before it runs."""

from __future__ import annotations

from collections import Counter

import typer

from multiarch.aws_errors import open_clients
from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import AccessOptions
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.options.stacks import OptionalStackArgument
from multiarch.cli.terminal import print_message
from multiarch.doctor.model import CheckState
from multiarch.plurals import format_count
from multiarch.runs.doctor import check_prerequisites
from multiarch.runs.existing_cluster import open_stack_clients
from multiarch.runs.stacks import find_file, find_root, load_plan

HELP = """Check what `pulumi up` needs before it runs.

Without STACK, the programs of this machine and the AWS credentials are checked. With STACK also its cluster's fixed
values, quotas, service-linked roles, the Kubernetes version, instance types in their zones, images, node groups, hosts
of charts, the Kubernetes API and Helm releases. AWS is queried with the identity that the stack names. Nothing is
written.

\b
States:
  ok       it is there
  warning  `pulumi up` runs, but something is not as it should be
  failed   it would stop `pulumi up`, or what it creates would not start
  unknown  it could not be checked, with the reason

\b
Examples:
  multiarch doctor
  multiarch doctor payments-prod
  multiarch doctor payments-prod --output json

Exit code: 0, also with rows that are unknown; 1 if a row has failed; 2 if the stack is invalid."""


@with_groups
def doctor(
    stack: OptionalStackArgument = None,
    *,
    access: AccessOptions,
    output: OutputOption = Format.TABLE,
) -> None:
    """Check what is needed, as :data:`HELP` says."""
    project = get_chosen_project()
    words, plan = load_plan(find_file(stack, project)) if stack else (None, None)
    clients = open_stack_clients(plan) if plan else open_clients(None, region_hint="Set AWS_REGION.")
    result = check_prerequisites(find_root(project), clients, words, plan, access.access)
    rows = [(row.check, str(row.state), row.text, row.fix) for row in result.rows]
    table = Table(("check", "state", "found", "fix"), rows)
    print_report(Report("doctor", data=result, blocks=lambda: [table]), output)
    counts = Counter(row.state for row in result.rows)
    said = ", ".join(f"{counts[state]} {state}" for state in CheckState if counts[state])
    print_message(f"{format_count(len(rows), 'check')}: {said}.")
    if result.stops:
        raise typer.Exit(1)
