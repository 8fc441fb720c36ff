"""``multiarch stack render``: a preview without engine or credentials."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.lines import count_columns, wrap_lines
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.options.stacks import StacksArgument
from multiarch.cli.terminal import print_message, show_problems
from multiarch.escaping import escape_terminal
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.plurals import format_count
from multiarch.runs.rendering import Rendered, render_stacks
from multiarch.runs.stacks import find_files, find_root

HELP = """Show the resources that Pulumi will declare.

Works without Pulumi's engine and AWS credentials. Writes user data, policies and manifests to build/STACK. Needs
Pulumi's Python packages: those of a clone's .venv, or `pip install 'multiarch-eks[pulumi]'`.

\b
Examples:
  multiarch stack render                           all stacks of the project
  multiarch stack render checkout-dev --directory rendered

Exit code: 0; 2 if a stack is invalid or the folder can't be written."""


def render(
    names: StacksArgument = None,
    *,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory", "-d", metavar="FOLDER", help="Where to write STACK/. Default: the project's build/."
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", min=0, help="Parallel processes; 0: one per processor.")
    ] = 0,
    output: OutputOption = Format.TABLE,
) -> None:
    """Render stacks, as :data:`HELP` says."""
    root = find_root(get_chosen_project())
    target = directory or root / "build"
    results: list[Rendered] = []
    for result in render_stacks(
        find_files(names or (), get_chosen_project()), root, target, jobs or os.cpu_count() or 1
    ):
        results.append(result)
        if output is not Format.JSON:
            show_problems(result.problems)
            if result.fault:
                print_message(f"error: {result.fault}")
        if output is Format.TABLE and not result.exit_code:
            _show(result)
    if output is not Format.TABLE:
        report = Report(
            "stack-rendering",
            data={"stacks": results},
            blocks=lambda: (
                Table(("type", "name"), [(each.type, each.name) for each in result.resources], result.stack)
                for result in results
                if not result.exit_code
            ),
        )
        print_report(report, output)
    elif len(results) > 1:
        done = sum(not result.exit_code for result in results)
        what = (
            format_count(done, "stack") if done == len(results) else f"{done} of {format_count(len(results), 'stack')}"
        )
        print_message(f"{what} rendered{f' into {target}' if done else ''}.")
    if code := max(result.exit_code for result in results):
        raise typer.Exit(code)


def _show(result: Rendered) -> None:
    room = count_columns(sys.stdout, sys.maxsize)
    for before, below, text in draw_tree(result.resources):
        for line in wrap_lines(escape_terminal(text), room, first=before, others=below):
            typer.echo(line)
    print_message(
        f"{format_count(len(result.resources), 'resource')}, {format_count(len(result.files), 'file')} in "
        f"{result.directory}"
    )


def draw_tree(nodes: Sequence[DeclaredResource]) -> Iterator[tuple[str, str, str]]:
    """Yield each resource below its parent, sorted by type and name.

    Three strings each: what its first line begins with, what further lines begin with, and its text.
    """
    children: dict[str, list[DeclaredResource]] = {}
    known = {node.urn for node in nodes}
    for node in sorted(nodes, key=lambda node: (node.type, node.name)):
        children.setdefault(node.parent if node.parent in known else "", []).append(node)

    def below(parent: str, indent: str) -> Iterator[tuple[str, str, str]]:
        siblings = children.get(parent, [])
        for node in siblings:
            last = node is siblings[-1]
            inner = f"{indent}{'   ' if last else '│  '}"
            others = f"{inner}{'│  ' if node.urn in children else '   '}"
            yield f"{indent}{'└─ ' if last else '├─ '}", others, _name(node)
            yield from below(node.urn, inner)

    for top in children.get("", []):
        yield "", "", _name(top)
        yield from below(top.urn, "")


def _name(node: DeclaredResource) -> str:
    return f"{node.type} {node.name}"
