"""``multiarch stack list``: the project's stacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Report, Table, problem_data
from multiarch.cli.options import stacks
from multiarch.errors import Problem
from multiarch.plurals import counted
from multiarch.rules import Severity

if TYPE_CHECKING:
    from multiarch.stack.model import Plan

HELP = """List the stacks of the project. An invalid stack is listed with its first error.

\b
Examples:
  multiarch stack list
  multiarch stack list --output json

Exit code: 0; 2 if a stack is invalid."""


def list_stacks(*, output: OutputOption = Format.TABLE) -> None:
    """List stacks, as :data:`HELP` says."""
    from multiarch.stack.yaml_source import shown

    entries = [(path, *stacks.plan_or_problems(path)) for path in stacks.files(())]
    columns = ("stack", "region", "kubernetes", "node groups", "state")
    report = Report(
        "stack-list",
        data=lambda: {"stacks": [_data(shown(path), plan, problems) for path, plan, problems in entries]},
        blocks=lambda: [Table(columns, [_row(path, plan, problems) for path, plan, problems in entries])],
    )
    show(report, output)
    if any(plan is None for _, plan, _ in entries):
        raise typer.Exit(2)


def _data(file: str, plan: Plan | None, problems: tuple[Problem, ...]) -> dict[str, object]:
    checked = {"file": file, "ok": plan is not None, "problems": [problem_data(problem) for problem in problems]}
    if plan is None:
        return checked
    groups = [{"name": group.name, "architecture": group.architecture} for group in plan.node_groups]
    return {
        "stack": plan.stack,
        "team": plan.team,
        "environment": plan.environment,
        "region": plan.region,
        "kubernetesVersion": plan.cluster.version,
        "nodeGroups": groups,
        **checked,
    }


def _row(path: Path, plan: Plan | None, problems: tuple[Problem, ...]) -> tuple[str, ...]:
    if plan is None:
        name = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
        first = next(problem for problem in problems if problem.severity is Severity.ERROR)
        return name, "", "", "", f"invalid: {first}"
    groups = ", ".join(f"{group.name} ({group.architecture})" for group in plan.node_groups)
    state = counted(len(plan.warnings), "warning") if plan.warnings else "ok"
    return plan.stack, plan.region or "", plan.cluster.version, groups, state
