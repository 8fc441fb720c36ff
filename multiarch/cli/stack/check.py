"""``multiarch stack check``: validate stack files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, output_option, show
from multiarch.cli.formats.report import Finding, FindingRule, Findings, Location, Report, Table, problem_data
from multiarch.cli.options import stacks
from multiarch.cli.options.stacks import StacksArgument
from multiarch.cli.terminal import say, show_problems
from multiarch.errors import Problem, said_once
from multiarch.escaping import escaped
from multiarch.plurals import counted
from multiarch.rules import Severity

if TYPE_CHECKING:
    from multiarch.stack.model import Plan

    Checked = tuple[str, Plan | None, tuple[Problem, ...]]

HELP = """Validate stacks, without AWS credentials or Pulumi's engine.

Reports all problems of all files, each with its file, line, key and a way to fix it.

\b
Examples:
  multiarch stack check                            all stacks of the project
  multiarch stack check checkout-dev --strict
  multiarch stack check --policy                   also the resources (needs Pulumi's packages)
  multiarch stack check config/stacks/Pulumi.checkout-dev.yaml --output sarif

Exit code: 0; 1 if there are warnings and --strict is given; 2 if a stack is invalid."""


def check(
    names: StacksArgument = None,
    *,
    policy: Annotated[
        bool, typer.Option("--policy", help="Also check the resources that Pulumi will declare against the policies.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are warnings.")] = False,
    output: Annotated[Format, output_option("records", "findings")] = Format.TABLE,
) -> None:
    """Validate stacks, as :data:`HELP` says."""
    from multiarch.stack.yaml_source import shown

    checked = [(shown(path), *stacks.plan_or_problems(path)) for path in stacks.files(names or ())]
    if policy:
        checked = [_with_policies(*each) for each in checked]
    if output is Format.TABLE:
        # The numbers are those of the lines.
        checked = [(file, plan, tuple(said_once(problems))) for file, plan, problems in checked]
    found = [problem.severity for _, _, problems in checked for problem in problems]
    errors, warnings = found.count(Severity.ERROR), found.count(Severity.WARNING)
    if output is Format.TABLE:
        for file, plan, problems in checked:
            show_problems(problems)
            typer.echo(escaped(f"{'ok' if plan is not None else 'invalid'} {file}"))
        say(f"{counted(len(checked), 'stack')}: {counted(errors, 'error')}, {counted(warnings, 'warning')}.")
    else:
        show(_report(checked, errors, warnings), output)
    if any(plan is None for _, plan, _ in checked):
        raise typer.Exit(2)
    if strict and warnings:
        raise typer.Exit(1)


def _with_policies(file: str, plan: Plan | None, problems: tuple[Problem, ...]) -> Checked:
    """The same with what violates a policy; a stack that violates one that is an error is invalid."""
    from multiarch.cli.stack.policy import violations

    if plan is None:
        return file, plan, problems
    found = violations(plan, file)
    fatal = any(problem.severity is Severity.ERROR for problem in found)
    return file, None if fatal else plan, (*problems, *found)


def _report(checked: Sequence[Checked], errors: int, warnings: int) -> Report:
    def data() -> dict[str, object]:
        entries = [
            {"file": file, "ok": plan is not None, "problems": [problem_data(problem) for problem in problems]}
            for file, plan, problems in checked
        ]
        return {"errors": errors, "warnings": warnings, "stacks": entries}

    def table() -> Table:
        rows = [
            (
                problem.file or file,
                str(problem.line or ""),
                problem.key or "",
                str(problem.severity),
                problem.rule,
                f"{problem.message} {problem.hint}".rstrip(),
            )
            for file, _, problems in checked
            for problem in problems
        ]
        return Table(("file", "line", "key", "severity", "rule", "problem"), rows)

    return Report(
        "stack-check", data=data, blocks=lambda: [table()], records=table, findings=partial(_findings, checked)
    )


def _findings(checked: Sequence[Checked]) -> Findings:
    from multiarch.rules import RULES

    problems = [(problem.file or file, problem) for file, _, problems in checked for problem in problems]
    rows = [RULES[name] for name in sorted({problem.rule for _, problem in problems})]
    rules = {row.name: FindingRule(row.name, row.severity, f"Refuses {row.finds}.") for row in rows}
    found = [
        Finding(
            rules[problem.rule],
            " ".join(part for part in (problem.key and f"{problem.key}:", problem.message, problem.hint) if part),
            [Location(file, problem.line)],
            ("ruleAndKey/v1", f"{problem.rule} {problem.key}"),
        )
        for file, problem in problems
    ]
    return Findings(tuple(rules.values()), found)
