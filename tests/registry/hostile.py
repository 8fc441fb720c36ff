"""A server of the tests' own that answers whatever it is told to, byte by byte."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from multiarch.registry.client import RegistryClient
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.reference import Reference
from multiarch.registry.settings import RegistrySettings
from tests.registry.images import QUICK, client

T = TypeVar("T")
Work = Callable[[RegistryClient, Reference], Awaitable[T]]
PATIENT = dataclasses.replace(QUICK, retries=0, total_seconds=20.0, read_seconds=20.0)
_TLS = b"\x16"
"""The first byte of a TLS handshake, which this server does not speak."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]


Answer = Callable[[Asked], bytes]


@dataclass(slots=True)
class Hostile:
    """A running server on loopback. ``asked`` has its requests; ``pause`` seconds pass before each answer.

    After it, the connection stays open for ``hold`` seconds.
    """

    answer: Answer
    pause: float = 0.0
    hold: float = 0.0
    host: str = ""
    address: str = "127.0.0.1"
    asked: list[Asked] = field(default_factory=list)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def elsewhere(self) -> str:
        """A name for it that does not look like a loopback address; Linux takes it for its own."""
        return self.host.replace("127.0.0.1", "0.0.0.0")  # noqa: S104 (nothing is bound to it)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Hostile]:
        """Serve on a free port, in the event loop of the test."""
        server = await asyncio.start_server(self._serve, self.address, 0)
        self.host = f"{self.address}:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._answered(reader, writer)
        finally:
            writer.transport.abort() if task.cancelling() else writer.close()
            self._serving.discard(task)

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            start = await reader.readexactly(1)
            if start == _TLS:  # as servers in Go say
                writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
                return
            first, *rows = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
            method, path, _ = first.split(" ", 2)
            headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
            await reader.readexactly(int(headers.get("content-length", "0")))
            asked = Asked(method, path, headers)
            self.asked.append(asked)
            await asyncio.sleep(self.pause)
            writer.write(self.answer(asked))
            await writer.drain()
            await asyncio.sleep(self.hold)


def http(status: int, body: bytes = b"", *headers: tuple[str, str]) -> bytes:
    """An answer with a length, after which the connection is closed."""
    rows = [*headers, ("Content-Length", str(len(body))), ("Connection", "close")]
    head = "".join(f"{name}: {value}\r\n" for name, value in rows)
    return f"HTTP/1.1 {status} Answer\r\n{head}\r\n".encode("latin-1", "replace") + body


def as_json(value: object, *headers: tuple[str, str], status: int = 200) -> bytes:
    """An answer in JSON."""
    return http(status, json.dumps(value).encode(), ("Content-Type", "application/json"), *headers)


def asking(
    server: Hostile,
    work: Work[T],
    *,
    credentials: Credentials | Sequence[Credentials] = (),
    settings: RegistrySettings = PATIENT,
    elsewhere: bool = False,
) -> T:
    """What ``work`` comes to. ``elsewhere``: the registry's name is not that of a loopback address."""

    async def run() -> T:
        async with server.running():
            host = server.elsewhere if elsewhere else server.host
            allowed = dataclasses.replace(settings, plain_http=frozenset({host}))
            async with client(allowed, credentials) as opened:
                return await work(opened, Reference(host, "team/image", "1.0", None))

    return asyncio.run(run())


async def digest(opened: RegistryClient, reference: Reference) -> str:
    """The digest of what is behind the reference."""
    return (await opened.manifest(reference)).digest
