"""``python -m tests.cluster.guard FOLDER``: the last one out ends what is left, whatever became of the tests.

Reads process ids, one per line, of programs that lead a session of their own. When its standard input ends, because
the tests closed it or because they were killed, it ends those sessions and removes FOLDER.
"""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

from sandbox import processes


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
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
