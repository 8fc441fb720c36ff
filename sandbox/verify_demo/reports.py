"""What a machine would answer to the script of ``multiarch verify`` through SSM: a stand-in for the node itself.

The lines are those of ``multiarch/verify/on_node/shell``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from multiarch.facts.ami_families import family_facts
from multiarch.facts.architectures import Architecture
from sandbox.aws.ssm_targets import Target
from sandbox.verify_demo.machines import CONTAINERD, UNAME, Machine

_MACHINES: Final = {Architecture.AMD64: 62, Architecture.ARM64: 183}  # e_machine
_PID: Final = 2000


@dataclass(frozen=True, slots=True)
class Process:
    """A container's process. ``image`` is the image's name, ``config`` and ``manifest`` are digests."""

    container_id: str
    image: str
    config: str
    manifest: str
    program: Architecture


def target(machine: Machine, processes: Sequence[Process], *, with_taints: bool = True) -> Target:
    """The SSM agent of a machine. ``with_taints``: whether its kubelet was started with taints."""
    architecture = machine.architecture
    registers = machine.registers
    flags = ["--node-labels=" + ",".join(f"{key}={value}" for key, value in registers.labels.items())]
    if with_taints and registers.taints:
        flags.append("--register-with-taints=" + ",".join(map(str, registers.taints)))
    programs = (
        ("kubelet", f"Kubernetes {machine.kubelet}"),
        ("containerd", f"containerd github.com/containerd/containerd/v2 {CONTAINERD}"),
        ("runc", "runc version 1.3.0"),
    )
    rows = [
        ("uname", UNAME[architecture], machine.kernel),
        ("os", family_facts(machine.group.family).os_example),
        *(("program", name, f"/usr/bin/{name}", _header(architecture), said) for name, said in programs),
        ("package", f"containerd {CONTAINERD}-1.amzn2023 {UNAME[architecture]}"),
        ("kubelet", "1000"),
        *(("flag", flag) for flag in flags),
        *(_container(each, architecture, _PID + number) for number, each in enumerate(processes)),
    ]
    return Target(output=_report(rows), platform_name="Amazon Linux")


def _container(process: Process, node: Architecture, pid: int) -> tuple[str, ...]:
    emulator = "" if process.program is node else f"qemu-{UNAME[process.program]}"
    what = (process.container_id, process.image, process.config, process.manifest, str(pid))
    return ("container", *what, "/bin/service", _header(process.program), emulator, "")


def _header(architecture: Architecture) -> str:
    """The first 20 bytes of a program in hexadecimal."""
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    return (identity + struct.pack("<HH", 2, _MACHINES[architecture])).hex()


def _report(rows: Iterable[Sequence[str]]) -> str:
    text = "\n".join("\t".join(row) for row in rows)
    return f"multiarch-node-report 1 plain\n{text}\nend {len(text)}\n"
