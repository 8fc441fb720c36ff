"""A node's report about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.images.elf import Elf
from multiarch.serialization import OMITTED, JsonProperty


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """One of the node's programs: ``kubelet``, ``containerd``, ``runc``. ``elf`` is None if it can't be read.

    ``version`` is what the program says (``v1.36.2``), or empty; ``fault`` says why something is missing, or is empty.
    """

    name: str
    path: str
    elf: Elf | None
    version: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class RunningContainer:
    """A container's process as the node's kernel and containerd show it.

    ``container_id`` is that of the Pod's status without ``containerd://``. ``config`` is the digest of the image's
    config and ``manifest`` that of the platform manifest, which containerd holds for it; either is empty if unknown.
    ``executable`` is where ``/proc/PID/exe`` leads and ``elf`` what it is. If that is an emulator (``qemu-aarch64``),
    ``emulator`` is its name, and ``executable`` and ``elf`` are those of the program that it runs.
    """

    container_id: str
    image: str
    config: str
    manifest: str
    executable: str = ""
    elf: Elf | None = None
    emulator: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What the script found. A field is None or empty if it could not be read; ``faults`` say what, and why.

    ``machine`` is ``uname -m``, ``architecture`` its translation or None for others; ``distribution`` is
    ``PRETTY_NAME`` of os-release. ``labels`` and ``taints`` are those of the running kubelet's command line and
    configuration files; None if no kubelet runs, or if they could not be read. ``boot_log`` has the last lines of
    cloud-init's and the bootstrap's log, for nodes where no kubelet registered. ``agent_version`` is the SSM agent's.

    A report about containers has them, the system and the faults, but nothing about the kubelet and its programs;
    ``incomplete`` says that it does not have all containers.
    """

    machine: str
    architecture: Architecture | None = field(metadata=OMITTED)
    kernel: str
    distribution: str
    programs: tuple[ProgramFile, ...]
    labels: Mapping[str, str] | None = None
    taints: tuple[Taint, ...] | None = None
    boot_log: tuple[str, ...] = field(default=(), metadata=OMITTED)
    containers: tuple[RunningContainer, ...] = field(default=(), metadata=OMITTED)
    faults: tuple[str, ...] = field(default=(), metadata=OMITTED)
    agent_version: str = ""
    incomplete: bool = field(default=False, metadata=OMITTED)

    @JsonProperty
    def status(self) -> str:
        """Return the status as an answer without a report has it."""
        return "done"
