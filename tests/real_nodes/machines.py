"""A made-up node of either architecture: a root file system of its own, with processes that only it sees."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from multiarch.verify.on_node.model import NodeReport
from multiarch.verify.on_node.report import parse_report
from multiarch.verify.on_node.script import build_node_script
from sandbox.cluster import machine
from tools import build

_ENTER: Final = """
root=$1 node=$2 script=$3; shift 3
mount --bind "$root" "$root"
mount --bind "$node" "$root/node"
for name in etc run tmp var; do [ ! -d "$node/$name" ] || mount --bind "$node/$name" "$root/$name"; done
mount --bind "$node/log" "$root/var/log"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
chroot "$root" /bin/dash /node/start </dev/null
exec chroot "$root" "$@" -c "$script"
"""
_WRITABLE: Final = ("etc", "run", "tmp", "var")
_CONTAINERD: Final = """
containerd --root /node/containerd --state /node/state --address /node/containerd.sock >/node/log/containerd.log 2>&1 &
tries=0; while [ ! -S /node/containerd.sock ] && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """``root`` is shared, and read-only; ``node`` is mounted in it as ``/node``, ``node/log`` as ``/var/log``."""

    root: Path
    node: Path

    def write(self, name: str, text: str) -> None:
        """Write a file below ``/node``."""
        (self.node / name).parent.mkdir(parents=True, exist_ok=True)
        (self.node / name).write_text(text)

    def start_kubelet(self, *flags: str) -> None:
        """Have a process called kubelet with these flags: a shell that waits."""
        shutil.copy(self.root / "usr/bin/dash", self.node / "kubelet")
        words = " ".join(f"'{flag}'" for flag in flags)
        self.start(f"/node/kubelet -c 'while :; do sleep 9; done' kubelet {words} >/dev/null 2>&1 &\nsleep 0.2\n")

    def start_containerd(self) -> None:
        """Start the root's containerd, and wait for its socket."""
        self.start(_CONTAINERD)

    def start(self, commands: str) -> None:
        """Have the node run these commands first."""
        with (self.node / "start").open("a") as file:
            file.write(commands)

    def make_writable(self) -> list[Path]:
        """Let programs write to ``/etc``, ``/run``, ``/tmp`` and ``/var``: in copies, which are returned."""
        for name in _WRITABLE:
            subprocess.run(["cp", "-a", str(self.root / name), str(self.node / name)], check=True)
        return [self.node / name for name in _WRITABLE]

    def run(self, script: str, *, by: Sequence[str] = ("/bin/sh",)) -> str:
        """What a shell prints that runs the script on the node. Raises CalledProcessError."""
        (self.node / "log").mkdir(exist_ok=True)
        self.start("")
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _ENTER, "enter"]
        done = subprocess.run(
            [*command, str(self.root), str(self.node), script, *by],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout

    def report(self, *, containers: bool = False, by: Sequence[str] = ("/bin/sh",)) -> NodeReport:
        """What the node says about itself."""
        return parse_report(self.run(build_node_script(containers=containers), by=by))


@contextmanager
def emulation(user: Path) -> Iterator[None]:
    """Let this machine run arm64 programs as long as a folder is in use."""
    machine.enter(user)
    try:
        machine.emulate(build.ensure("qemu-aarch64-static"))
        yield
    finally:
        machine.leave(user)


def tree(folders: Sequence[Path]) -> Mapping[str, tuple[int, int, int]]:
    """Every file below the folders, with its mode, size and time of change."""
    found = {}
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            status = path.lstat()
            found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found
