"""What a cluster of real nodes leaves on this machine: nothing, once it has ended."""

from __future__ import annotations

from pathlib import Path

from sandbox import processes
from sandbox.cluster import binfmt, cgroups, machine


def left_of(folder: Path) -> list[str]:
    """What is left of a cluster: processes, mounts, control groups, links, files, its claim on binfmt_misc."""
    mark = folder.name
    programs = [" ".join(words) for _, words in processes.command_lines() if any(mark in word for word in words)]
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if mark in line]
    groups = [str(root / mark) for root in cgroups.hierarchies() if (root / mark).exists()]
    files = [str(place) for place in (folder, Path("/run") / mark, machine.USERS / mark) if place.exists()]
    files += [str(place) for place in Path("/var/lib/cni/results").glob(f"{mark}*")]
    if not any(machine.USERS.glob("*")):
        files += [str(place) for place in (machine.NOTES, binfmt.ENTRIES / binfmt.NAME) if place.exists()]
    return [*programs, *mounts, *groups, *files]


def read_settings() -> str | None:
    """Return what kubelets change on the whole machine; None while it is changed, by any cluster on it."""
    return None if any(machine.USERS.glob("*")) else Path("/proc/sys/vm/overcommit_memory").read_text()
