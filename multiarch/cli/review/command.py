"""``multiarch review``: read previews, and say what a reviewer has to know."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.formats import FindingsOutputOption, Format, print_report
from multiarch.cli.options import with_groups
from multiarch.cli.options.posting import To, send_post
from multiarch.cli.options.prices import CostOptions
from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.review.fail_on import find_failing, parse_fail_on
from multiarch.cli.review.markdown import SMALLEST, render_markdown
from multiarch.cli.review.report import make_report
from multiarch.cli.terminal import print_message
from multiarch.errors import MultiarchError
from multiarch.files import write_atomically
from multiarch.plurals import format_count
from multiarch.review.digest import ReviewDigest, build_digest
from multiarch.runs.review import read_changes

HELP = """Show what a change would do, from previews of Pulumi.

Reads what `pulumi preview --json` prints, or the engine's event log, of one stack or many. With --since or --before the
stack files before and after the change are compared too. With --prices it shows what the change costs per month. With
--post the digest becomes a comment on the merge request of the job that runs this, which later runs update; the job's
variables are those of `multiarch post comment`.

\b
Examples:
  pulumi preview --json | multiarch review -
  multiarch review previews/*.json --since origin/main --output markdown
  multiarch review preview.json --before ../main --fail-on replace-stateful,widen-iam
  multiarch review --since origin/main             the stack files alone, without credentials
  multiarch review previews/*.json --since origin/main --prices prices.json --post gitlab

Exit code: 0; 1 if a preview failed or --fail-on found something; 2 for invalid input; 3 if Git or posting fails."""


@with_groups
def review(
    previews: Annotated[
        list[str] | None,
        typer.Argument(metavar="PREVIEW", help="Files of previews: JSON or event logs; - is standard input."),
    ] = None,
    *,
    since: Annotated[
        str | None,
        typer.Option(metavar="REF", help="Compare the stack files with those where the branch left this one."),
    ] = None,
    before: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Compare the stack files with those of another clone.")
    ] = None,
    manifests: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Manifests of pods that must keep a node: a file, a folder, or -. Repeatable.",
        ),
    ] = None,
    cost: CostOptions,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="RULE|LEVEL,…",
            help="Exit with 1 for these rules, or from this risk: low, medium, high.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="BYTES", help="Shorten the Markdown to this size, least important first.")
    ] = None,
    attach: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the complete Markdown to a file as well.")
    ] = None,
    post: Annotated[
        To | None,
        typer.Option(metavar="gitlab|github", help="Also put the Markdown into a comment on the job's merge request."),
    ] = None,
    output: FindingsOutputOption = Format.TABLE,
) -> None:
    """Review previews, as :data:`HELP` says."""
    wanted = parse_fail_on(fail_on or [])
    if limit is not None and limit < SMALLEST:
        raise MultiarchError(f"--limit must be at least {SMALLEST} bytes.")
    if limit is not None and output is not Format.MARKDOWN and post is None:
        raise MultiarchError("--limit is for --output markdown and --post.")
    changes = read_changes(previews or [], since, before, manifests or [], get_chosen_project())
    found = build_digest(cost.priced(changes))
    if not found.stacks:
        print_message("No stack changes.")
    failing = find_failing(found, wanted)
    if attach is not None:
        write_atomically(attach, render_markdown(found)[0])
    if output is Format.MARKDOWN:
        text, complete = render_markdown(found, limit, attach.name if attach else "")
        typer.echo(text, nl=False)
        if not complete:
            print_message(f"The Markdown was shortened to {limit} bytes.")
    else:
        print_report(make_report(found, failing), output)
    if post is not None:
        _post(post, found, limit, attach.name if attach else "")
    if failing:
        print_message(f"{format_count(len(failing), 'rule')} of --fail-on found something: {', '.join(failing)}.")
        raise typer.Exit(1)


def _post(to: To, found: ReviewDigest, limit: int | None, attached: str) -> None:
    """Post the digest; without stacks only an earlier comment is updated. Raises MultiarchError."""
    from multiarch.comments import LIMITS, Post  # noqa: PLC0415  (25 MB that only this needs)

    # The service counts characters, of which there are at most as many as bytes.
    text, _ = render_markdown(found, min(limit or LIMITS[to], LIMITS[to]), attached)
    send_post(Post(text, create=bool(found.stacks)), to)
