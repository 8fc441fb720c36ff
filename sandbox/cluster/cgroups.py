"""Control groups for the nodes of a cluster: made before a kubelet starts, emptied and removed after it.

Every kubelet needs a root of its own: with a shared one, each ends the other's pods as orphans.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_REMOVE_SECONDS = 10.0


def hierarchies() -> list[Path]:
    """Return where cgroups are mounted: one folder per controller (version 1), or a single one (version 2)."""
    rows = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return sorted({Path(row[1]) for row in rows if row[2] in ("cgroup", "cgroup2")})


def create(path: str) -> None:
    """Make the group ``path``, such as ``multiarch-x/amd64``, under every controller. Raises OSError."""
    for root in hierarchies():
        folder = root
        for part in Path(path).parts:
            _enable_controllers(folder)
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            # Version 1: a process can't join a group without processors and memory.
            for name in ("cpuset.cpus", "cpuset.mems"):
                if (parent / name).is_file() and not (folder / name).read_text().strip():
                    (folder / name).write_text((parent / name).read_text())


def _enable_controllers(folder: Path) -> None:
    """Version 2: give the groups below all controllers that the folder has."""
    offered = folder / "cgroup.controllers"
    if not offered.is_file():
        return
    for controller in offered.read_text().split():
        with contextlib.suppress(OSError):  # one that threads or real-time processes of the machine keep
            (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def remove(name: str) -> list[str]:
    """End all processes in the group ``name`` and the groups below it, and remove them; return those that are left."""
    deadline = time.monotonic() + _REMOVE_SECONDS
    while True:
        for pid in _processes(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for folder in _folders(name):
            with contextlib.suppress(OSError):  # a process that is just ending
                folder.rmdir()
        left = [str(folder) for folder in _folders(name)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def _processes(name: str) -> set[int]:
    found = set()
    for folder in _folders(name):
        with contextlib.suppress(OSError):
            found |= {int(line) for line in (folder / "cgroup.procs").read_text().split()}
    return found - {os.getpid()}


def _folders(name: str) -> Iterator[Path]:
    """Yield the group's folders, the innermost first."""
    for root in hierarchies():
        for folder, _, _ in os.walk(root / name, topdown=False):
            yield Path(folder)
