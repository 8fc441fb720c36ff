"""The addresses of a cluster's pods and services, and one of this machine that its pods reach.

The pods' networks lead to this machine and nowhere else, without DNS and without a proxy for Services. So the machine
has the address of the Service ``kubernetes`` while the cluster runs, and forwards its port 443 to the API server, which
listens on loopback; other ports lead to registries.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import socketserver
import struct
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Final
from zlib import crc32

from multiarch.facts.architectures import Architecture

API_PORT: Final = 443
_FIRST_NETWORK, _NETWORKS = 100, 100
_SERVICES: Final = 255  # the third number of Services' addresses; those of pods are 0 and 1
_SET_ADDRESS, _SET_MASK, _SET_FLAGS = (
    0x8916,
    0x891C,
    0x8914,
)  # linux/sockios.h: SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFFLAGS
_PIECE: Final = 65536


def _network(folder: Path) -> int:
    """Return the second number of the addresses: clusters on one machine should not have the same."""
    return _FIRST_NETWORK + crc32(folder.name.encode()) % _NETWORKS


def of_pods(folder: Path, architecture: Architecture) -> str:
    """Return the addresses of the pods on a node: ``10.144.1.0/24``."""
    return f"10.{_network(folder)}.{list(Architecture).index(architecture)}.0/24"


def of_services(folder: Path) -> str:
    """Return the addresses of Services: ``10.144.255.0/24``."""
    return f"10.{_network(folder)}.{_SERVICES}.0/24"


def for_pods(folder: Path) -> str:
    """Return this machine's address for the pods, which is the first of the Services: that of ``kubernetes``."""
    return f"10.{_network(folder)}.{_SERVICES}.1"


def remove(folder: Path) -> None:
    """Take the address away, if it is there. May be called twice."""
    with contextlib.suppress(OSError):
        _change(folder, _SET_FLAGS, struct.pack("h", 0))


def _change(folder: Path, request: int, value: bytes) -> None:
    """Change an alias of the loopback interface; without flags it is removed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = f"lo:{_network(folder)}".encode()
        fcntl.ioctl(any_socket, request, struct.pack("16s24s", name, value))


def _as_socket_address(address: str) -> bytes:
    return struct.pack("hH4s", socket.AF_INET, 0, socket.inet_aton(address))


class Gateway:
    """This machine's address for a cluster's pods, and the ports that lead to loopback. Use :func:`open_gateway`."""

    def __init__(self, address: str) -> None:
        """Forward nothing yet."""
        self.address = address
        self._servers: list[_Forward] = []

    def forward(self, target: int, *, port: int = 0) -> int:
        """Let pods reach the port ``target`` of 127.0.0.1 at a port of the address (a free one by default)."""
        server = _Forward((self.address, port), target)
        self._servers.append(server)
        Thread(target=server.serve_forever, name=f"forward-{target}", daemon=True).start()
        return int(server.server_address[1])

    def close(self) -> None:
        """Forward nothing more."""
        for server in self._servers:
            server.shutdown()
            server.server_close()


@contextlib.contextmanager
def open_gateway(folder: Path) -> Iterator[Gateway]:
    """Give this machine its address for the pods; :func:`remove` takes it away if the owner was killed."""
    address = for_pods(folder)
    _change(folder, _SET_ADDRESS, _as_socket_address(address))
    _change(folder, _SET_MASK, _as_socket_address("255.255.255.255"))
    gateway = Gateway(address)
    try:
        yield gateway
    finally:
        gateway.close()
        remove(folder)


class _Forward(socketserver.ThreadingTCPServer):
    """Copies bytes between each connection and a port of 127.0.0.1."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], target: int) -> None:
        super().__init__(address, _Copy)
        self.target = target


class _Copy(socketserver.BaseRequestHandler):
    server: _Forward

    def handle(self) -> None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.server.target)) as other:
            back = Thread(target=_copy, args=(other, self.request), daemon=True)
            back.start()
            _copy(self.request, other)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until the source ends, and let the target know."""
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
