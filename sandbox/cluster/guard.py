"""``python -m sandbox.cluster.guard FOLDER``: ends what is left of a cluster, also when its owner was killed.

Reads process ids, one per line, of programs that lead a session of their own. When its standard input ends, because
the owner closed it or was killed, it ends those sessions and removes FOLDER with all that nodes have outside it.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from sandbox import processes
from sandbox.cluster import leftovers


def main(folder: Path) -> None:
    """Wait for the end of standard input, then leave nothing."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    started = []
    for line in sys.stdin:
        found = processes.identify(int(line))
        if found is not None:
            started.append(found)
    for leader in reversed(started):
        processes.stop_session(leader, grace=2.0)
    for left in leftovers.remove(folder):
        print(f"{left} can't be removed", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
