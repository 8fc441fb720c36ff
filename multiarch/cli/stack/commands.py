"""``multiarch stack``: from a stack file to what it means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli import stack_files
from multiarch.cli.output import (
    Output,
    OutputOption,
    as_json,
    counted,
    print_json,
    print_table,
    say,
    show_problems,
)
from multiarch.cli.stack import explain, new, pin, render
from multiarch.errors import MultiarchError, Problem, StackError
from multiarch.rules import Severity

if TYPE_CHECKING:
    from multiarch.stack.model import Plan

commands = typer.Typer(help="Write, check, explain, pin and render stacks.", no_args_is_help=True)
commands.command("new")(new.new)


@commands.command("list")
def list_stacks(*, output: OutputOption = Output.TABLE) -> None:
    """List the project's stacks; one that is refused is listed with its first problem, and the exit code is 2."""
    from multiarch.stack.yaml_source import shown

    entries = [(path, *_planned(path)) for path in stack_files.files(())]
    if output is Output.JSON:
        stacks = [_listed(shown(path), plan, problems) for path, plan, problems in entries]
        print_json("stack-list", {"stacks": stacks})
    else:
        columns = ("STACK", "REGION", "KUBERNETES", "NODE GROUPS", "STATE")
        print_table(columns, [_row(path, plan, problems) for path, plan, problems in entries])
    if any(plan is None for _, plan, _ in entries):
        raise typer.Exit(2)


@commands.command()
def check(
    stacks: Annotated[
        list[str] | None, typer.Argument(metavar="STACK|FILE", help="Names or files. Default: all of the project.")
    ] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when there are warnings.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Validate stacks without engine or credentials; every problem of every file, with its place and the way out."""
    from multiarch.stack.yaml_source import shown

    checked = [(shown(path), *_planned(path)) for path in stack_files.files(stacks or ())]
    errors = sum(p.severity is Severity.ERROR for _, _, problems in checked for p in problems)
    warnings = sum(p.severity is Severity.WARNING for _, _, problems in checked for p in problems)
    if output is Output.JSON:
        content = [
            {"file": file, "ok": plan is not None, "problems": [as_json(problem) for problem in problems]}
            for file, plan, problems in checked
        ]
        print_json("stack-check", {"errors": errors, "warnings": warnings, "stacks": content})
    else:
        for file, plan, problems in checked:
            show_problems(problems)
            typer.echo(f"{'ok' if plan is not None else 'refused'} {file}")
        say(f"{counted(len(checked), 'stack')}: {counted(errors, 'error')}, {counted(warnings, 'warning')}.")
    if any(plan is None for _, plan, _ in checked):
        raise typer.Exit(2)
    if strict and warnings:
        raise typer.Exit(1)


commands.command("explain")(explain.explain)
commands.command("render")(render.render)
commands.command("pin")(pin.pin)


@commands.command()
def schema(
    *,
    write: Annotated[bool, typer.Option("--write", help="Write the project's config/stack.schema.json.")] = False,
) -> None:
    """Print the JSON Schema of a stack file, which editors use for completion and checks."""
    from multiarch.cli.files import write_atomically
    from multiarch.stack.json_schema import SCHEMA_FILE, text
    from multiarch.stack.load import project_root

    if not write:
        typer.echo(text(), nl=False)
        return
    path = project_root(Path.cwd()) / SCHEMA_FILE
    write_atomically(path, text())
    say(f"Wrote {path}.")


def _planned(path: Path) -> tuple[Plan | None, tuple[Problem, ...]]:
    """The plan and its warnings, or None and what refuses the stack."""
    from multiarch.stack.yaml_source import shown

    try:
        plan = stack_files.planned(path)[1]
    except StackError as error:
        return None, error.problems
    except MultiarchError as error:
        return None, (Problem("refused", error.message, error.hint, file=shown(path)),)
    return plan, plan.warnings


def _listed(file: str, plan: Plan | None, problems: tuple[Problem, ...]) -> dict[str, object]:
    faults = {"file": file, "ok": plan is not None, "problems": [as_json(problem) for problem in problems]}
    if plan is None:
        return faults
    groups = [{"name": group.name, "architecture": group.architecture} for group in plan.node_groups]
    return {
        "stack": plan.stack,
        "team": plan.team,
        "environment": plan.environment,
        "region": plan.region,
        "kubernetesVersion": plan.cluster.version,
        "nodeGroups": groups,
        **faults,
    }


def _row(path: Path, plan: Plan | None, problems: tuple[Problem, ...]) -> tuple[str, ...]:
    if plan is None:
        name = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
        first = next(problem for problem in problems if problem.severity is Severity.ERROR)
        return name, "", "", "", f"refused: {first}"
    groups = ", ".join(f"{group.name} ({group.architecture})" for group in plan.node_groups)
    state = counted(len(plan.warnings), "warning") if plan.warnings else "ok"
    return plan.stack, plan.region or "", plan.cluster.version, groups, state
