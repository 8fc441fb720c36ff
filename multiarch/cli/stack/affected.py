"""``multiarch stack affected``: the stacks that a merge request touches."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Report, Table
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.terminal import print_message
from multiarch.runs.stack_changes import find_affected_stacks

HELP = """Show which stacks a change touches, for previews of only those.

Compares the working tree with the commit that HEAD and REF last had in common. A stack is touched by the values of
its own file and of Pulumi.yaml, and by every file that the Pulumi program may read. Comments, documents and tests
touch no stack. Stacks whose file was deleted are listed: their resources still exist.

\b
Examples:
  multiarch stack affected --since origin/main
  multiarch stack affected --since origin/main --quiet | xargs -n 1 pulumi preview --stack

Exit code: 0; 2 if REF is unknown or the clone is too shallow; 3 if Git fails."""
_FIX = "Its resources still exist: restore the file and run `pulumi destroy --stack {name}` first."


def affected(
    *,
    since: Annotated[str, typer.Option("--since", metavar="REF", help="The branch or commit to compare with.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only names of stacks, one per line.")] = False,
    output: OutputOption = Format.TABLE,
) -> None:
    """List affected stacks, as :data:`HELP` says."""
    found = find_affected_stacks(since, get_chosen_project())
    if quiet:
        for each in found.stacks:
            typer.echo(each.stack)
        for gone in found.deleted:
            print_message(f"warning: the file of stack {gone.stack} was deleted. {_FIX.format(name=gone.stack)}")
        return
    rows = [(each.stack, "; ".join(each.reasons)) for each in found.stacks]
    rows += [(each.stack, f"{each.file} was deleted. {_FIX.format(name=each.stack)}") for each in found.deleted]
    nothing = f"The change since {since} touches no stack."
    report = Report(
        "affected-stacks", data=found, blocks=lambda: [Table(("stack", "why"), rows)] if rows else [nothing]
    )
    print_report(report, output)
