"""``multiarch stack check`` and ``list``: validate stack files, and name them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from multiarch.aws_cli import require_aws_cli
from multiarch.cli.formats import FindingsOutputOption, Format, OutputOption, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.options.stacks import StacksArgument
from multiarch.cli.terminal import print_message, print_notes, show_problems
from multiarch.errors import MultiarchError, merge_warnings
from multiarch.escaping import escape_terminal
from multiarch.frozen import dataclass
from multiarch.plurals import format_count
from multiarch.rules import RULES, Finding, Location, Severity
from multiarch.runs.stacks import CheckedStack, check_stacks

HELP = """Validate stacks, without AWS credentials or Pulumi's engine.

Reports the problems of all files, each with its file, line, key and a way to fix it: first what can't be read, then,
once all of a file can be, what contradicts. A note says if the AWS CLI, which Pulumi needs, is not on PATH.

\b
Examples:
  multiarch stack check                            all stacks of the project
  multiarch stack check checkout-dev --strict
  multiarch stack check --policy                   also the resources (needs Pulumi's packages)
  multiarch stack check config/stacks/Pulumi.checkout-dev.yaml --output sarif

Warnings that a stack acknowledges (`acknowledge: {RULE: reason}`) are shown with their reason, and do not count.

Exit code: 0; 1 if there are warnings and --strict is given; 2 if a stack is invalid."""


LIST = """List the stacks of the project. An invalid stack is listed with its first error.

\b
Examples:
  multiarch stack list
  multiarch stack list --output json

Exit code: 0; 2 if a stack is invalid."""


@dataclass(frozen=True, slots=True)
class _Result:
    errors: int
    warnings: int
    acknowledged: int
    stacks: Sequence[CheckedStack]


def check(
    names: StacksArgument = None,
    *,
    policy: Annotated[
        bool, typer.Option("--policy", help="Also check the resources that Pulumi will declare against the policies.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are warnings.")] = False,
    output: FindingsOutputOption = Format.TABLE,
) -> None:
    """Validate stacks, as :data:`HELP` says."""
    checked = check_stacks(names or (), get_chosen_project())
    if policy:
        # It loads the policies and the registry client.
        from multiarch.runs.policies import with_policies  # noqa: PLC0415

        checked = [with_policies(each, get_chosen_project()) for each in checked]
    acknowledged = sum(bool(problem.acknowledged) for each in checked for problem in each.problems)
    severities = [problem.severity for each in checked for problem in each.problems if not problem.acknowledged]
    errors, warnings = severities.count(Severity.ERROR), severities.count(Severity.WARNING)
    lines = sum(len(merge_warnings(each.problems)) for each in checked)
    if output is Format.TABLE:
        for each in checked:
            show_problems(each.problems)
            typer.echo(escape_terminal(f"{'ok' if each.ok else 'invalid'} {each.file}"))
        # Not a finding of a stack: the machine that checks may not be the one that runs Pulumi.
        try:
            require_aws_cli()
        except MultiarchError as missing:
            print_notes([str(missing)])
        shown = format_count(lines, "line")
        print_message(
            f"{format_count(len(checked), 'stack')}: {format_count(errors, 'error')}, "
            f"{format_count(warnings, 'warning')}{f', {acknowledged} acknowledged' if acknowledged else ''}"
            f"{f' in {shown}' if lines < len(severities) + acknowledged else ''}"
            f"{', policies included' if policy else ''}."
        )
    else:
        data = _Result(errors, warnings, acknowledged, checked)
        findings = partial(_findings, checked)
        print_report(Report("stack-check", data, lambda: [_problems(checked)], findings), output)
    if not all(each.ok for each in checked):
        raise typer.Exit(2)
    if strict and warnings:
        raise typer.Exit(1)


def list_stacks(*, output: OutputOption = Format.TABLE) -> None:
    """List stacks, as :data:`LIST` says."""
    found = check_stacks((), get_chosen_project())
    columns = ("stack", "region", "kubernetes", "node groups", "state")
    print_report(
        Report("stack-list", data={"stacks": found}, blocks=lambda: [Table(columns, map(_row, found))]), output
    )
    if not all(each.ok for each in found):
        raise typer.Exit(2)


def _row(each: CheckedStack) -> tuple[str, ...]:
    if each.plan is None or each.summary is None:
        first = next(problem for problem in each.problems if problem.severity is Severity.ERROR)
        return each.name, "", "", "", f"invalid: {first}"
    groups = ", ".join(f"{group.name} ({group.architecture})" for group in each.summary.node_groups)
    warnings = [problem for problem in each.problems if not problem.acknowledged]
    state = format_count(len(warnings), "warning") if warnings else "ok"
    return each.summary.stack, each.summary.region or "", each.summary.kubernetes_version, groups, state


def _problems(checked: Sequence[CheckedStack]) -> Table:
    rows = [
        (
            problem.file or each.file,
            str(problem.line or ""),
            problem.key or "",
            "acknowledged" if problem.acknowledged else str(problem.severity),
            problem.rule,
            str(replace(problem, file=None, key=None)),
        )
        for each in checked
        for problem in each.problems
    ]
    return Table(("file", "line", "key", "severity", "rule", "problem"), rows)


def _findings(checked: Sequence[CheckedStack]) -> Iterator[Finding]:
    for file, each in ((found.file or one.file, found) for one in checked for found in one.problems):
        yield Finding(
            RULES[each.rule],
            each.key or "",
            str(replace(each, file=None, key=None)),
            acknowledged=each.acknowledged,
            locations=[Location(file, each.line)],
            fingerprint=("ruleAndKey/v1", f"{each.rule} {each.key}"),
        )
