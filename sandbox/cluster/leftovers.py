"""What the nodes of a cluster have outside its folder, and how all of it is removed, whatever was killed before."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox import processes
from sandbox.cluster import addresses, cgroups, machine
from tools import build

_END_SECONDS: Final = 3.0
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


def clear(folder: Path) -> list[str]:
    """Remove everything of a cluster but ``folder`` itself, which has no mounts afterwards; return what is left.

    May be called twice, and for a cluster without nodes.
    """
    _end_programs(folder)
    if not (folder / _NODES).is_file():
        return []
    addresses.remove(folder)
    left = [*cgroups.remove(folder.name), *_unmount(folder)]
    machine.leave(folder)
    _remove_files(folder)
    if not left:
        shutil.rmtree(run_folder(folder), ignore_errors=True)
    return left


def remove(folder: Path) -> list[str]:
    """Remove everything of a cluster; return what is left. A folder with mounts stays: they may lead outside."""
    left = clear(folder)
    if not left:
        shutil.rmtree(folder, ignore_errors=True)
    return left


def _end_programs(folder: Path) -> None:
    """End what a killed owner left: programs from the cache of tools that name the cluster's folder."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _programs(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + _END_SECONDS
        while _programs(folder) and time.monotonic() < deadline:
            time.sleep(0.05)


def _programs(folder: Path) -> list[int]:
    marks, tools = (f"{folder}/", f"{run_folder(folder)}/"), str(build.cache_root())
    return [
        pid
        for pid, words in processes.command_lines()
        # Under an emulator the first word is the emulator's.
        if any(word.startswith(tools) for word in words[:2]) and any(mark in word for word in words for mark in marks)
    ]


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
