"""``python -m sandbox.background``: the AWS server, and beside it a process from which stand-ins start fast.

Both are one session, which ends with the AWS server's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sandbox.aws import __main__ as aws
from sandbox.providers import forking


def main() -> int:
    """Serve both until SIGTERM or Ctrl-C."""
    arguments = sys.argv[1:]
    if ahead := arguments[0] == forking.AHEAD:
        arguments.pop(0)
    if os.fork() == 0:
        forking.serve(Path(arguments[-1]), ahead=ahead)
    return aws.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
