"""A control plane with two real nodes, one of each architecture, and a registry with images for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from multiarch.facts.architectures import Architecture
from sandbox.cluster import addresses, binfmt, control_plane, images, leftovers, machine, node
from sandbox.cluster.addresses import Gateway
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.node import Node
from sandbox.cluster.programs import Programs
from sandbox.registry import server
from tools import build

_EMULATED_TOOLS: Final = ("qemu-aarch64-static", "kubelet-arm64", "containerd-arm64")


@dataclass(frozen=True, slots=True)
class Nodes:
    """A control plane and nodes by architecture: containerd runs on each, and the kubelet once it is started.

    ``missing`` says why there is no emulated node, and is empty if there is one. ``hosts`` is the folder with the
    ``hosts.toml`` for the images' registry. Another registry without TLS needs one too. Pods reach this machine by
    ``gateway``, and the registry at its port ``registry_port``.
    """

    plane: ControlPlane
    by_architecture: Mapping[Architecture, Node]
    missing: str
    hosts: Path
    gateway: Gateway
    registry_port: int


@contextlib.contextmanager
def running(programs: Programs, plane: ControlPlane) -> Iterator[Nodes]:
    """Start containerd for each architecture that this machine can run; start kubelets with ``Node.start_kubelet``.

    What nodes leave on the machine is removed with the programs, see :class:`~sandbox.cluster.programs.Programs`.

    Raises:
        OutsideError: real nodes can't run here, or a part ended or did not answer.
        BuildError: a tool could not be built.
    """
    native = machine.native_architecture()
    leftovers.mark(programs.folder)
    machine.enter(programs.folder)
    hosts = programs.folder / "hosts"
    with addresses.open_gateway(programs.folder) as gateway, server.running(images.repositories()) as url:
        gateway.forward(port_of(plane.kube.access.url), port=addresses.API_PORT)
        server.write_hosts(hosts, url)
        missing = _emulate(native)
        nodes = {}
        for architecture in Architecture:
            if architecture is native or not missing:
                emulated = architecture is not native
                nodes[architecture] = node.start(programs, plane, architecture, emulated=emulated, registries=hosts)
        yield Nodes(plane, nodes, missing, hosts, gateway, gateway.forward(port_of(url)))


def port_of(url: str) -> int:
    """Return the port in a URL that has one."""
    return int(url.rpartition(":")[2])


def _emulate(native: Architecture) -> str:
    """Let this machine run programs of the other architecture; return why not, or nothing."""
    if native is not Architecture.AMD64:
        return "only a machine with an amd64 processor emulates the other architecture here"
    try:
        interpreter, *_ = [build.ensure(name) for name in _EMULATED_TOOLS]
        machine.emulate(interpreter)
    except (binfmt.NoEmulationError, build.BuildError) as error:
        return str(error)
    return ""


@contextlib.contextmanager
def complete() -> Iterator[Nodes]:
    """Start a control plane and the nodes' containerd; remove everything on leaving."""
    with Programs.running() as programs, running(programs, control_plane.start(programs, real_nodes=True)) as nodes:
        yield nodes
