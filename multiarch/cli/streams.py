"""The standard streams of a command, and where they can't be written."""

from __future__ import annotations

import errno
import io
import os
import sys

WRITE_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""Errors of writing to a stream. Errors about files have a file name."""
_STDOUT = 1


def escape_unknown_characters() -> None:
    """Print characters that the terminal's encoding lacks escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Drop what stdout still holds, so that Python does not try to write it once more at its end."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), _STDOUT)
