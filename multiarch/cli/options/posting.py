"""Options of the commands that post to GitLab or GitHub, and what they say afterwards."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from multiarch.cli.terminal import say

if TYPE_CHECKING:
    from multiarch.comments import Post

POSTING_SECONDS = 300.0
"""How long to wait for rate limits and failures, by default."""


class To(StrEnum):
    """A service."""

    GITLAB = "gitlab"
    GITHUB = "github"


def send_post(post: Post, to: To | None = None, seconds: float = POSTING_SECONDS) -> None:
    """Post to this CI job's service, and write on stderr what happened. Raises MultiarchError."""
    import os

    from multiarch.comments import detect_service, post_report

    posted = post_report(to or detect_service(os.environ), post, os.environ, seconds)
    what = "issue" if post.title or post.close else "comment"
    if posted.action == "none":
        say(f"There is no open {what}." if what == "issue" else f"There is no {what} to update.")
        return
    done = "is up to date" if posted.action == "unchanged" else f"was {posted.action}"
    say(f"The {what} {done}: {posted.url}" if posted.url else f"The {what} {done}.")
