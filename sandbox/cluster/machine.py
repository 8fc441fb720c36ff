"""What clusters on one machine share: settings of the kernel, and the entry of binfmt_misc for arm64 programs.

Each cluster is a user, noted in ``/run/multiarch-eks``. The last one to leave sets back what the first one found.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from multiarch.errors import OutsideError
from multiarch.facts.architectures import Architecture
from sandbox.cluster import binfmt

NOTES: Final = Path("/run/multiarch-eks")
USERS: Final = NOTES / "users"
_MACHINES: Final = {"x86_64": Architecture.AMD64, "aarch64": Architecture.ARM64}
_PODS: Final = Path("/var/lib/kubelet/pods")
_SETTINGS: Final = NOTES / "settings.json"
_KERNEL: Final = Path("/proc/sys")
# What the kubelet sets (pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables), and the plugin ptp (the last).
_CHANGED: Final = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "net/ipv4/ip_forward",
)


def native_architecture() -> Architecture:
    """Return this machine's architecture.

    Raises:
        OutsideError: real nodes can't run here: not Linux, another processor, or no root.
    """
    native = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or native is None:
        raise OutsideError(
            f"Real nodes need Linux on amd64 or arm64; this is {platform.system()} on {platform.machine()}."
        )
    if os.geteuid() != 0:
        raise OutsideError(
            "Real nodes need root: they mount, and make network namespaces and control groups.",
            hint="Run the command as root, in a virtual machine if you like.",
        )
    if _PODS.exists():
        raise OutsideError(
            "This machine is a Kubernetes node: another kubelet uses /var/lib/kubelet, which real nodes would share.",
            hint="Use another machine.",
        )
    return native


def enter(user: Path) -> None:
    """Note that ``user``, a folder that lives as long as its cluster, will change settings of the machine."""
    with _locked():
        USERS.mkdir(parents=True, exist_ok=True)
        if not _users():
            values = {name: (_KERNEL / name).read_text().strip() for name in _CHANGED if (_KERNEL / name).is_file()}
            _SETTINGS.write_text(json.dumps(values))
        (USERS / user.name).write_text(str(user))


def emulate(interpreter: Path) -> None:
    """Make the kernel run arm64 programs by ``interpreter`` until the last user leaves; call it after :func:`enter`.

    Raises:
        NoEmulationError: binfmt_misc can't be used here.
    """
    with _locked():
        binfmt.register(NOTES, interpreter)


def leave(user: Path) -> None:
    """Forget a user; without any, set back what was changed. May be called twice, and for one that never entered."""
    with _locked():
        (USERS / user.name).unlink(missing_ok=True)
        if _users() or not NOTES.is_dir():
            return
        binfmt.unregister(NOTES)
        for name, value in json.loads(_SETTINGS.read_text()).items() if _SETTINGS.is_file() else ():
            if (_KERNEL / name).read_text().strip() != value:
                (_KERNEL / name).write_text(value)
        shutil.rmtree(NOTES)


def overlay_works_in(folder: Path) -> bool:
    """Check that overlayfs works in a folder: not in all containers, nor on all file systems."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        lower, upper, work, merged = (Path(made, name) for name in ("lower", "upper", "work", "merged"))
        for place in (lower, upper, work, merged):
            place.mkdir()
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        # What is mounted goes away with the mount namespace.
        command = ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options, str(merged)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _users() -> list[Path]:
    """Return the notes of users, without those whose folder was removed by hand."""
    for note in USERS.glob("*"):
        if not Path(note.read_text()).exists():
            note.unlink()
    return sorted(USERS.glob("*"))


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Hold a lock on the folder of the notes, which stays when they go."""
    handle = os.open(NOTES.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
