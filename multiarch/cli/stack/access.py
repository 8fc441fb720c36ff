"""``multiarch stack access``: the role of a permission set, as ``access`` in the stack file takes it."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.aws_errors import translate_failures
from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.options import with_groups
from multiarch.cli.options.aws import AwsOptions
from multiarch.stack.permission_sets import find_permission_set_roles

HELP = """Show the ARN of the role of a permission set.

IAM Identity Center makes an IAM role of each permission set that is assigned to an account. Needs AWS credentials of
that account that may call iam:ListRoles.

\b
Examples:
  multiarch stack access --sso PlatformAdmin
  multiarch stack access --sso PlatformAdmin --profile payments -o json

Exit code: 0; 3 if the account has no such role, or AWS can't be reached or denies access."""


@with_groups
def access(
    *,
    sso: Annotated[str, typer.Option("--sso", metavar="NAME", help="The name of a permission set.")],
    aws: AwsOptions,
    output: OutputOption = Format.TABLE,
) -> None:
    """Show a permission set's role, as :data:`HELP` says."""
    with translate_failures():
        found = find_permission_set_roles(sso, aws.open(None)("iam"))
    rows = [(each.permission_set, each.arn) for each in found]
    report = Report(
        "permission-set-roles", data={"roles": list(found)}, blocks=lambda: [Table(("permission set", "arn"), rows)]
    )
    print_report(report, output)
