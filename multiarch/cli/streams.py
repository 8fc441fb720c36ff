"""The process of a command: its standard streams, where they can't be written, and its memory."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

WRITE_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""Errors of writing to a stream. Errors about files have a file name."""
_RARELY = (50_000, 20, 100)
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


@contextmanager
def reduce_collections() -> Iterator[None]:
    """Collect cyclic garbage less often than usual.

    JSON has no cycles, and each collection visits everything that is kept: for 10,000 pods that takes longer than
    reading them.
    """
    usual = gc.get_threshold()
    gc.set_threshold(*_RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
