"""``multiarch stack diff``: what an edit of a stack file will do to the nodes, and to the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Block, Items, Report, Table
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.options.stacks import StackArgument
from multiarch.review.difference import StackDifference, compare_stack
from multiarch.runs.review import read_stack_change

HELP = """Show what an edit of a stack file will do to the nodes.

Compares the plan of the working tree with that of --against, without AWS credentials or Pulumi's engine: for each node
group and NodePool whether its nodes stay, roll (end one after the other), are replaced or deleted (all end at the same
time), and how many at a time; then the keys that differ, and what a review finds. What the program, AWS or other people
changed, `pulumi preview` shows.

\b
Examples:
  multiarch stack diff payments-prod                        what is not committed yet
  multiarch stack diff payments-prod --against origin/main
  multiarch stack diff payments-prod --against before.yaml --output json

Exit code: 0; 1 if nodes roll, are replaced or are deleted; 2 for invalid input; 3 if Git fails."""
_UNKNOWN = (
    "How many nodes a group has is unknown: the stack file has only the minimum and the maximum.",
    "What the program, charts and defaults of AWS change, and what was changed outside of Pulumi: `pulumi preview`.",
)


def diff(
    stack: StackArgument,
    *,
    against: Annotated[
        str,
        typer.Option(
            metavar="REF|FILE|FOLDER",
            help="A commit of Git (where the branch left it), a stack file, or a clone of the project.",
        ),
    ] = "HEAD",
    output: OutputOption = Format.TABLE,
) -> None:
    """Compare a stack file with an earlier one, as :data:`HELP` says."""
    found = compare_stack(read_stack_change(stack, against, get_chosen_project()))
    data = {
        "stack": found.stack,
        "against": against,
        "new": found.new,
        "endsNodes": found.ends_nodes,
        "nodes": found.nodes,
        "keys": found.keys,
        "findings": [
            {"rule": each.rule.name, "risk": each.level, "subject": each.subject, "text": each.text}
            for each in found.findings
        ],
        "acknowledged": found.acknowledged,
        "unknown": _UNKNOWN,
    }
    print_report(Report("stack-diff", data=data, blocks=lambda: _blocks(found, against)), output)
    if found.ends_nodes:
        raise typer.Exit(1)


def _blocks(found: StackDifference, against: str) -> Iterator[Block]:
    if not found.keys and not found.findings and not found.ends_nodes and not found.new:
        yield f"{found.stack}: nothing differs from {against}."
        return
    yield (
        f"{found.stack} is new: {against} has no such stack."
        if found.new
        else f"{found.stack}, compared with {against}:"
    )
    rows = [(each.subject, each.outcome, each.pace, "; ".join(each.reasons)) for each in found.nodes]
    yield Table(("nodes", "outcome", "pace", "why"), rows)
    if found.keys:
        yield Items("Keys that differ", found.keys)
    if found.findings:
        yield Items("What to check", [f"{each.level.name}: {each.subject}: {each.text}" for each in found.findings])
    if found.acknowledged:
        yield Items("Acknowledged warnings", [str(each) for each in found.acknowledged])
    yield Items("Not known without a preview", _UNKNOWN)
