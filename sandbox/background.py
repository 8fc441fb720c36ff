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
    """Serve both until SIGTERM or Ctrl-C; the arguments are those of ``python -m sandbox.aws``."""
    if os.fork() == 0:
        forking.serve(Path(sys.argv[-1]) / forking.SOCKET)
    return aws.main()


if __name__ == "__main__":
    sys.exit(main())
