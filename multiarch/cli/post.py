"""``multiarch post``: reports as one comment, or one issue, that update themselves in place."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.cli.options.posting import To, send_post
from multiarch.comments import Post
from multiarch.errors import MultiarchError
from multiarch.files import format_input, read_input

_JOB = """\b
Variables of the job:
  GitLab  GITLAB_TOKEN (a project access token with the scope api and the role Reporter), CI_API_V4_URL, CI_PROJECT_ID,
          CI_MERGE_REQUEST_IID
  GitHub  GITHUB_TOKEN with permissions: pull-requests: write or issues: write, GITHUB_API_URL, GITHUB_REPOSITORY,
          GITHUB_EVENT_PATH or GITHUB_REF
The token is sent to that server only, over https, and is never printed.

Exit code: 0; 2 if a variable is missing, or FILE can't be read; 3 if the service can't be reached or denies access."""

COMMENT = f"""Post a Markdown file as a comment on a merge request.

The comment goes to the merge request or pull request of the job that runs this. It is found again by a hidden first
line and by its author, and updated in place: there is one comment for each --name. Without --name, a file that begins
with such a line, as `multiarch review` writes it, keeps it. Longer text than the service allows is cut, and
says so.

\b
Examples:
  multiarch post comment digest.md
  multiarch audit images --manifests manifests/ -o markdown | multiarch post comment - --name images

{_JOB}"""

ISSUE = f"""Keep one open issue for the findings of a scheduled job.

The issue is opened with --title, found again by a hidden first line and by its author, and updated in place. With
--close it is closed, with FILE as its last text if one is given; nothing happens if none is open.

\b
Examples:
  multiarch post issue drift.md --title "Drift in checkout-dev" --name drift/checkout-dev
  multiarch post issue --close --name drift/checkout-dev

{_JOB}"""

_FILE = typer.Argument(metavar="FILE", help="Markdown; - reads standard input.")
_NAME = typer.Option(
    metavar="NAME", help="Tells apart several comments on one merge request. Default: FILE's own, or report."
)
_TO = typer.Option(metavar="gitlab|github", help="The service. Default: the one whose CI runs this.")


def comment(
    file: Annotated[str, _FILE],
    *,
    name: Annotated[str | None, _NAME] = None,
    only_update: Annotated[
        bool, typer.Option("--only-update", help="Update the comment if there is one; do not create it.")
    ] = False,
    to: Annotated[To | None, _TO] = None,
) -> None:
    """Post a comment, as :data:`COMMENT` says."""
    send_post(Post(_read(file), name, create=not only_update), to)


def issue(
    file: Annotated[str | None, _FILE] = None,
    *,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The issue's title.")] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="Tells apart several issues of one project.")] = "report",
    close: Annotated[bool, typer.Option("--close", help="Close the issue if it is open.")] = False,
    to: Annotated[To | None, _TO] = None,
) -> None:
    """Keep an issue, as :data:`ISSUE` says."""
    if not close and (file is None or not title):
        raise MultiarchError("FILE and --title are needed to open an issue.", hint="Or close it: --close.")
    send_post(Post("" if file is None else _read(file), name, title or "", close), to)


def _read(file: str) -> str:
    """Return the text. Raises MultiarchError for a file that can't be read or is empty: its command failed."""
    text = read_input(file)
    if not text.strip():
        raise MultiarchError(f"{format_input(file)} is empty.", hint="Did the command that writes it fail?")
    return text
