"""Options of the commands that post to GitLab or GitHub, and what they say afterwards."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from multiarch.cli.terminal import print_message

if TYPE_CHECKING:
    from multiarch.comments import Post


To = Literal["gitlab", "github"]
"""A service."""


def send_post(post: Post, to: To | None = None) -> None:
    """Post to this CI job's service, and write on stderr what happened. Raises MultiarchError."""
    from multiarch.comments import detect_service, post_report  # noqa: PLC0415  (25 MB that only this needs)

    posted = post_report(to or detect_service(os.environ), post, os.environ)
    what = "issue" if post.title or post.close else "comment"
    if posted.action == "none":
        print_message(f"There is no open {what}." if what == "issue" else f"There is no {what} to update.")
        return
    print_message(f"The {what} was {posted.action}{': ' if posted.url else '.'}{posted.url}")
