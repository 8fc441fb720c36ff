"""The command line: the only code that prints, asks or exits. One module per noun."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Sequence

from multiarch.errors import MultiarchError, OutsideError

_INTERRUPTED, _NOBODY_READS = 130, 141
_CAN_T_BE_WRITTEN = frozenset({errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""What a write of a stream fails with; errors about files name their file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``arguments`` are the process's own by default.

    0: fine. 1: findings. 2: wrong usage or configuration. 3: something outside failed. 130: interrupted (Ctrl-C). 141:
    nobody reads the output any more (``| head``), as of programs that a signal ends. Errors that are raised on purpose
    are shown on stderr, without a traceback.
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    from multiarch.cli.application import application
    from multiarch.cli.output import say, show_error

    for stream in (sys.stdout, sys.stderr):
        # What a file holds may have no place in the terminal's encoding, or in any: it is shown escaped.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        application(next((word for word in words if not word.startswith("-")), None))(words, prog_name="multiarch")
    except SystemExit as done:
        # The application says 1 of a closed pipe, which would be findings.
        if isinstance(done.__context__, BrokenPipeError):
            return _NOBODY_READS
        return done.code if isinstance(done.code, int) else 2 if done.code else 0
    except MultiarchError as error:
        show_error(error)
        return error.exit_code
    except OSError as error:
        if error.errno not in _CAN_T_BE_WRITTEN or error.filename is not None:
            raise
        say(f"error: the output can't be written: {error.strerror}.")
        return OutsideError.exit_code
    return 0
