"""The process of a command: its standard streams, where they are closed or can't be written, and its memory."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

WRITE_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""Errors of writing to a stream. Errors about files have a file name."""
_RARELY = (50_000, 20, 100)
_STDIN, _STDOUT, _STDERR = range(3)


class _Messages(io.FileIO):
    """A stderr that drops what can't be written: a lost message does not change a command's result."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401  (any buffer)
        """Write bytes, or nothing, and return their number."""
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare() -> None:
    """Open the streams that are closed, and make stderr one that can't fail.

    A closed stdin has no content, and writing to a closed stdout fails as on a full disk. Without this the next file
    that is opened, such as a cache, would get the stream's number, and what is printed.
    """
    if sys.stdin is None:
        sys.stdin = open(_opened(_STDIN, os.O_RDONLY), encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(_opened(_STDOUT, os.O_RDONLY), "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        _opened(_STDERR, os.O_WRONLY)
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    sys.stderr = io.TextIOWrapper(_Messages(_STDERR, "w", closefd=False), encoding, write_through=True)


def escape_unknown_characters() -> None:
    """Print characters that the terminal's encoding lacks escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Drop what stdout still holds, so that Python does not try to write it once more at its end."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), _STDOUT)


def _opened(number: int, flags: int) -> int:
    """Open /dev/null as the stream with this number."""
    found = os.open(os.devnull, flags)
    if found != number:
        os.dup2(found, number)
        os.close(found)
    return number


@contextmanager
def few_collections() -> Iterator[None]:
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
