"""``python -m sandbox.cluster.guard FOLDER``: removes what is left of a cluster, also when its owner was killed.

It waits until its standard input ends, because the owner closed it or was killed.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from sandbox.cluster import leftovers


def main(folder: Path) -> None:
    """Wait for the end of standard input, then leave nothing."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    for left in leftovers.remove(folder):
        print(f"{left} can't be removed", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
