"""``multiarch stack explain``: every derived value, and the rule it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Block, Report, Table
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.terminal import show_problems
from multiarch.nodes.model import Derived
from multiarch.runs.stacks import find_file, load_plan
from multiarch.stack.explanation import StackExplanation, explain_stack
from multiarch.stack.yaml_source import format_path

HELP = """Show every value derived from a stack file, and its source.

The source is the file and line, or the rule.

\b
Examples:
  multiarch stack explain checkout-dev
  multiarch stack explain checkout-dev --output json

Exit code: 0; 2 if the stack is invalid."""


def explain(stack: StackArgument, *, output: OutputOption = Format.TABLE) -> None:
    """Explain a stack, as :data:`HELP` says."""
    path = find_file(stack, get_chosen_project())
    found = explain_stack(*load_plan(path))
    print_report(Report("stack-explanation", data=found, blocks=partial(_blocks, found, format_path(path))), output)
    if output is not Format.JSON:
        show_problems(found.warnings)


def _blocks(found: StackExplanation, file: str) -> Iterator[Block]:
    yield f"{found.stack}, {file}"
    # The file is the same for most; without it a line of 80 columns has room for the values.
    rows = [(row.key, row.value, row.rule.replace(f"{file}:", "line ")) for row in found.cluster]
    yield Table(("key", "value", "from"), rows)
    for group in found.node_groups:
        yield _table(f"{group.key}: {group.name}", group.derived)
    if found.autoscaling:
        yield _table(f"autoscaling: {found.autoscaler}", found.autoscaling)


def _table(title: str, rows: Iterable[Derived]) -> Table:
    return Table(("key", "value", "rule"), [(row.key, row.value, row.rule) for row in rows], title)
