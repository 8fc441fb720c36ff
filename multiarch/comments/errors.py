"""Errors of posting comments and issues."""

from __future__ import annotations

from multiarch.errors import OutsideError


class CommentError(OutsideError):
    """A comment or issue could not be read or written (exit code 3). The message never contains the token."""


class GoneError(CommentError):
    """What should be changed does not exist any more."""


class UnsureError(CommentError):
    """A connection broke or a server failed while something was created: it may exist."""
