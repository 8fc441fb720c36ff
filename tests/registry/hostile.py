"""A server of the tests' own that answers whatever it is told to, byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.registry.faults import Asked

_TLS = b"\x16"
"""The first byte of a TLS handshake, which this server does not speak."""
Answer = Callable[[Asked], bytes]


@dataclass(slots=True)
class Hostile:
    """A running server on loopback. ``asked`` has its requests; ``pause`` seconds pass before each answer."""

    answer: Answer
    pause: float = 0.0
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
            if start == _TLS:
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


def http(status: int, body: bytes = b"", *headers: tuple[str, str]) -> bytes:
    """An answer with a length, after which the connection is closed."""
    rows = [*headers, ("Content-Length", str(len(body))), ("Connection", "close")]
    head = "".join(f"{name}: {value}\r\n" for name, value in rows)
    return f"HTTP/1.1 {status} Answer\r\n{head}\r\n".encode("latin-1", "replace") + body


def as_json(value: object, *headers: tuple[str, str], status: int = 200) -> bytes:
    """An answer in JSON."""
    return http(status, json.dumps(value).encode(), ("Content-Type", "application/json"), *headers)
