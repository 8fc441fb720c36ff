"""What the nodes of a cluster have outside its folder, and how all of it is removed, whatever was killed before.

``python -m sandbox.cluster.leftovers FOLDER`` removes it when its standard input ends: its owner has closed it, or was
killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox.cluster import addresses, cgroups, machine

_END_SECONDS: Final = 2.0
_NODES: Final = "nodes"  # in the folder of a cluster with nodes
_LOG_LINKS: Final = Path("/var/log/containers")  # the kubelet's; it can't be told another folder
_NETWORK_RESULTS: Final = Path("/var/lib/cni/results")  # libcni's; containerd can't tell it another folder
_DEVICE_PLUGINS: Final = Path("/var/lib/kubelet/device-plugins")  # the kubelet's; it can't be told another folder


def run_folder(folder: Path) -> Path:
    """Return the folder of a cluster's sockets and mounts: sockets need a short path."""
    return Path("/run") / folder.name


def mark(folder: Path) -> None:
    """Note that a cluster has nodes, before anything is done for them."""
    (folder / _NODES).touch()


def remove(folder: Path) -> list[str]:
    """Remove everything of a cluster; return what is left. A folder with mounts stays: they may lead outside.

    May be called twice, and for a cluster without nodes.
    """
    _end_programs(folder)
    left = []
    if (folder / _NODES).is_file():
        addresses.remove(folder)
        left = [*cgroups.remove(folder.name), *_unmount(folder)]
        machine.leave(folder)
        _remove_files(folder)
    if not left:
        shutil.rmtree(run_folder(folder), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
    return left


def _end_programs(folder: Path) -> None:
    """End what runs in the cluster's folders: every program of a cluster is started there."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _programs(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + _END_SECONDS
        while _programs(folder) and time.monotonic() < deadline:
            time.sleep(0.05)


def _programs(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            place = (process / "cwd").readlink()
            if place.is_relative_to(folder) or place.is_relative_to(run_folder(folder)):
                found.append(int(process.name))
    return found


def _unmount(folder: Path) -> list[str]:
    places = list(_mounts(folder))
    for place in places:
        subprocess.run(["umount", "--lazy", str(place)], capture_output=True, check=False)
    return [str(place) for place in _mounts(folder)]


def _mounts(folder: Path) -> Iterator[Path]:
    """Yield the mount points below a cluster's folders, the last mounted first."""
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        place = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), line.split()[4]))
        if place.is_relative_to(folder) or place.is_relative_to(run_folder(folder)):
            yield place


def _remove_files(folder: Path) -> None:
    """Remove what a kubelet or a plugin writes to folders of the whole machine."""
    for link in _LOG_LINKS.glob("*.log"):
        if link.is_symlink() and link.readlink().is_relative_to(folder):
            link.unlink(missing_ok=True)
    for result in _NETWORK_RESULTS.glob(f"{folder.name}-*"):
        result.unlink(missing_ok=True)
    for name in ("kubelet.sock", "kubelet_internal_checkpoint"):
        (_DEVICE_PLUGINS / name).unlink(missing_ok=True)
    used = (_LOG_LINKS, _NETWORK_RESULTS, _DEVICE_PLUGINS)
    for empty in (*used, _NETWORK_RESULTS.parent, _DEVICE_PLUGINS.parent):
        with contextlib.suppress(OSError):  # others use it too, or it is not there
            empty.rmdir()


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    for left in remove(Path(sys.argv[1])):
        print(f"{left} can't be removed", file=sys.stderr)
