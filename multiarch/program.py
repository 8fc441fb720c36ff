"""Running a program within bounds: of time, of its output, and of the processes that it starts."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, cast

_CHUNK = 64 * 1024


class TimeLimitError(Exception):
    """The program took too long, and was killed."""


class OutputLimitError(Exception):
    """The program printed too much, and was killed."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A program's exit code, its standard output, and the end of its standard error. The output is not shown."""

    code: int
    output: bytes = field(repr=False)
    errors: bytes = field(repr=False)


def run_program(
    command: Sequence[str], environment: Mapping[str, str], *, seconds: float | None, limit: int
) -> Finished:
    """Run a program until it and all that hold its output have ended.

    ``limit`` is the most bytes of output. A program that exceeds a bound is killed with all processes of its group.
    ``seconds`` None is for a program that may ask on the terminal: it has no time limit, reads standard input and
    writes to standard error. Raises TimeLimitError, OutputLimitError, OSError for a program that can't be started, and
    ValueError for arguments that no program can have.
    """
    asks = seconds is None
    process = subprocess.Popen(  # noqa: S603  # the caller's own command
        command,
        env=environment,
        stdin=None if asks else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if asks else subprocess.PIPE,
        # Another group than the terminal's could not read from the terminal.
        start_new_session=not asks,
    )
    with process:
        try:
            return _finished(process, math.inf if seconds is None else time.monotonic() + seconds, limit)
        except BaseException:
            with contextlib.suppress(OSError):
                if asks:
                    process.kill()
                else:
                    # Those that it started too, which may outlive it.
                    os.killpg(process.pid, signal.SIGKILL)
            raise


def _finished(process: subprocess.Popen[bytes], end: float, limit: int) -> Finished:
    taken = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe is not None}
    with selectors.DefaultSelector() as selector:
        for pipe in taken:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_left(end)):
                pipe = cast("IO[bytes]", key.fileobj)
                if not (chunk := os.read(key.fd, _CHUNK)):
                    selector.unregister(pipe)
                taken[pipe] += chunk
                if len(taken[pipe]) > limit:
                    if pipe is process.stdout:
                        raise OutputLimitError
                    del taken[pipe][:-limit]
    try:
        code = process.wait(_left(end))
    except subprocess.TimeoutExpired:
        raise TimeLimitError from None
    output, errors = (bytes(taken[pipe]) if pipe is not None else b"" for pipe in (process.stdout, process.stderr))
    return Finished(code, output, errors)


def _left(end: float) -> float | None:
    """Seconds until ``end``, None for ever. Raises TimeLimitError if there are none."""
    if math.isinf(end):
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise TimeLimitError
    return left
