"""The command line: the only code that prints, asks or exits. One module per noun."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from multiarch.errors import MultiarchError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``arguments`` are the process's own by default.

    0: fine. 1: findings. 2: wrong usage or configuration. 3: something outside failed. Errors that are raised on
    purpose are shown on stderr, without a traceback.
    """
    from multiarch.cli.application import application
    from multiarch.cli.output import show_error

    for stream in (sys.stdout, sys.stderr):
        # What a file holds may have no place in the terminal's encoding, or in any: it is shown escaped.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        application(None if arguments is None else list(arguments), prog_name="multiarch")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 2 if done.code else 0
    except MultiarchError as error:
        show_error(error)
        return error.exit_code
    return 0
