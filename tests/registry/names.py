"""A client for images whose names are not trusted; DNS answers of the tests' own; listeners that count who connects."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from multiarch.registry.credentials.model import Credential, Credentials
from multiarch.registry.egress import EgressPolicy
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import OCI_INDEX
from multiarch.registry.reference import parse_reference
from multiarch.registry.settings import RegistrySettings
from tests.registry.hostile import Hostile, http
from tests.registry.images import QUICK, client

INDEX = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}).encode()
FOUND = http(200, INDEX, ("Content-Type", OCI_INDEX))
READER = Credential("reader", "sesame", source="Secret team/registry")
BASIC = "Basic " + base64.b64encode(b"reader:sesame").decode()
HERE = "registry.example"
"""A registry that is allowed, at a stand-in's address."""


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the proxies of this machine's environment."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@dataclass(slots=True)
class Names:
    """``answers`` are the addresses of names, one list after the other; the last one is repeated.

    ``asked`` are the names as they were requested. Those in ``silent`` get no answer for some seconds. Threads that ran
    before the test, such as the node bridge of a shared cluster, keep the system's resolver.
    """

    answers: Mapping[str, Sequence[Sequence[str]]]
    silent: Mapping[str, float] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def replace(self, monkeypatch: pytest.MonkeyPatch) -> Names:
        """Take the place of the system's resolver for this test."""
        system, others = socket.getaddrinfo, set(threading.enumerate()) - {threading.current_thread()}

        def answer(host: str, port: int, *rest: Any, **options: Any) -> list[tuple[Any, ...]]:
            if threading.current_thread() in others:
                return system(host, port, *rest, **options)
            return self._answer(host, port)

        monkeypatch.setattr(socket, "getaddrinfo", answer)
        return self

    def _answer(self, host: str, port: int) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        name = host.rstrip(".")
        for end, seconds in self.silent.items():
            if name.endswith(end):
                time.sleep(seconds)
        rounds = self.answers.get(name, ())
        if not rounds:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        number = sum(each.rstrip(".") == name for each in self.asked)
        return [_row(address, port) for address in rounds[min(number, len(rounds)) - 1]]


def _row(address: str, port: int) -> tuple[Any, ...]:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))


@asynccontextmanager
async def listener(address: str = "127.0.0.1", port: int = 0) -> AsyncIterator[tuple[int, list[object]]]:
    """A port that nothing is to connect to, and who did. It closes every connection."""
    connected: list[object] = []

    async def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer.get_extra_info("peername"))
        writer.close()

    server = await asyncio.start_server(note, address, port)
    async with server:
        yield server.sockets[0].getsockname()[1], connected


def bounded(
    *,
    registries: Sequence[str] = ("*",),
    networks: Sequence[str] = ("127.0.0.1/32",),
    plain_http: Sequence[str] = (HERE,),
    mirrors: Path | None = None,
) -> RegistrySettings:
    egress = EgressPolicy.of(registries, networks)
    return dataclasses.replace(
        QUICK, retries=0, egress=egress, plain_http=frozenset(plain_http), mirrors=mirrors, down_seconds=0.01
    )


async def asked_for(
    image: str, wanted: RegistrySettings, credentials: Credentials | Sequence[Credentials] = ()
) -> str | tuple[RegistryReason, str]:
    """The manifest's digest, or why there is none."""
    async with client(wanted, credentials) as opened:
        try:
            return (await opened.manifest(parse_reference(image))).digest
        except RegistryError as error:
            return error.reason, error.detail


def port_of(server: Hostile) -> str:
    return server.host.rpartition(":")[2]


@asynccontextmanager
async def web_proxy() -> AsyncIterator[tuple[int, list[str]]]:
    """Port and heads of requests. It lets nobody through TLS, and says of everything else that it is not there."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head)
        status = "502 No Way" if head.startswith("CONNECT ") else "404 Not Found"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], asked
