"""A containerd for one node: its configuration, its network, and a start that waits until it answers."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from multiarch.facts.architectures import Architecture
from sandbox.cluster.leftovers import run_folder
from sandbox.cluster.programs import Program, Programs, wait_for
from tools import build

START_SECONDS: Final = 60.0
_CRI: Final = "io.containerd.cri.v1"
# Not needed here: they look for file systems that a machine may lack, or use a folder of the whole machine.
_DISABLED: Final = (
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.erofs",
    "io.containerd.snapshotter.v1.zfs",
    "io.containerd.differ.v1.erofs",
    "io.containerd.mount-handler.v1.erofs",
    "io.containerd.image-verifier.v1.bindir",
    "io.containerd.internal.v1.opt",
    "io.containerd.internal.v1.restart",
    "io.containerd.tracing.processor.v1.otlp",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a containerd needs to know.

    ``subnet`` is the pods' addresses, ``10.44.1.0/24``; ``pause`` the image of pod sandboxes; ``registries`` a folder
    with a ``hosts.toml`` per registry. ``snapshotter`` is containerd's name of what holds the file systems of images.
    """

    folder: Path
    node: str
    architecture: Architecture
    emulated: bool
    subnet: str
    pause: str
    registries: Path
    snapshotter: str

    @property
    def own(self) -> Path:
        """The node's folder."""
        return self.folder / self.node

    @property
    def run(self) -> Path:
        """The folder of the node's sockets and mounts, short: containerd rejects long paths for its shims' sockets."""
        return run_folder(self.folder) / str(self.architecture)

    @property
    def socket(self) -> Path:
        """Where containerd listens."""
        return self.run / "containerd.sock"


def start(programs: Programs, settings: Settings) -> Program:
    """Start it, and return when it answers.

    Raises:
        ClusterError: it ended, or did not answer in time.
        BuildError: a tool could not be built.
    """
    settings.own.mkdir(parents=True, exist_ok=True)
    settings.run.mkdir(parents=True, exist_ok=True, mode=0o711)
    config = settings.own / "containerd.toml"
    config.write_text(_toml(_configuration(settings)))
    _write_network(settings)
    tool = build.ensure("containerd-arm64" if settings.emulated else "containerd")
    environ = _with_native_gzip(settings) if settings.emulated else {}
    program = programs.start(f"containerd-{settings.node}", [tool, "--config", config], environ)

    def answers() -> bool:
        program.still_running()
        return settings.socket.exists() and ctr(settings, "version", check=False).returncode == 0

    wait_for(answers, f"containerd of {settings.node}", timeout=START_SECONDS)
    return program


def _with_native_gzip(settings: Settings) -> dict[str, str]:
    """Let this machine's gzip unpack layers: containerd runs ``unpigz`` if there is one; its own is slow in qemu."""
    gzip, folder = shutil.which("gzip"), settings.own / "bin"
    if gzip is None:
        return {}
    folder.mkdir(exist_ok=True)
    (folder / "unpigz").symlink_to(gzip)
    return {"PATH": os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])}


def ctr(settings: Settings, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run ``ctr`` on the node's containerd, in the namespace of the kubelet's containers."""
    command = [str(_ctr()), "--address", str(settings.socket), "--namespace", "k8s.io", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=check)


@cache
def _ctr() -> Path:
    """Find it once: a test may move the cache of this process while a cluster runs."""
    return build.ensure("ctr")


def _configuration(settings: Settings) -> dict[str, object]:
    """Return the configuration, as in containerd's docs/cri/config.md, version 3."""
    runc = {"BinaryName": str(_runc(settings)), "Root": str(settings.run / "runc")}
    runtime = {
        "runtime_type": "io.containerd.runc.v2",
        "runtime_path": str(build.ensure("containerd-shim-runc-v2")),
        "options": runc,
    }
    network = {
        "bin_dirs": [str(build.ensure(name).parent) for name in ("ptp", "host-local")],
        "conf_dir": str(settings.own / "network"),
        "use_internal_loopback": True,
    }
    return {
        "version": 3,
        "root": str(settings.own / "containerd"),
        "state": str(settings.run / "containerd"),
        "disabled_plugins": list(_DISABLED),
        "grpc": {"address": str(settings.socket)},
        "plugins": {
            f"{_CRI}.images": {
                "snapshotter": settings.snapshotter,
                # Without it, pulls with ``native`` need another snapshotter.
                "use_local_image_pull": True,
                "pinned_images": {"sandbox": settings.pause},
                "registry": {"config_path": str(settings.registries)},
            },
            f"{_CRI}.runtime": {
                # A machine may not let runc lower its score.
                "restrict_oom_score_adj": True,
                "netns_mounts_under_state_dir": True,
                "cni": network,
                "containerd": {"runtimes": {"runc": runtime}},
            },
            "io.containerd.grpc.v1.cri": {"stream_server_address": "127.0.0.1", "stream_server_port": "0"},
            "io.containerd.nri.v1.nri": {"disable": True},
            "io.containerd.shim.v1.manager": {"socket_dir": str(settings.run / "s")},
        },
    }


def _toml(table: dict[str, object]) -> str:
    """Return TOML with inline tables: JSON's strings, numbers and lists are TOML's too."""
    return "".join(f"{name} = {_value(value)}\n" for name, value in table.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_value(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)


def _runc(settings: Settings) -> Path:
    real = build.ensure("runc")
    if not settings.emulated:
        return real
    script = settings.own / "runc"
    wrapper = Path(__file__).with_name("without_seccomp.py")
    words = [sys.executable, "-I", "-S", str(wrapper), str(real)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    return script


def _write_network(settings: Settings) -> None:
    """Connect pods with this machine and nothing else: a veth pair each, addresses from the node's subnet."""
    folder = settings.own / "network"
    folder.mkdir(exist_ok=True)
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": settings.subnet}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(settings.own / "addresses"),
    }
    name = f"{settings.folder.name}-{settings.node}"
    plugins = [{"type": "ptp", "ipMasq": False, "ipam": addresses}]
    configuration = {"cniVersion": "1.0.0", "name": name, "plugins": plugins}
    (folder / "10-ptp.conflist").write_text(json.dumps(configuration))
