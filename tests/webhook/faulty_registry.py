"""A registry that misbehaves by chance, by a seed: what it is asked, and what it must not be asked twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto

from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST

CRLF = "\r\n"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"


class Fault(Enum):
    """What happens to the answers of a registry."""

    NONE = auto()
    DOWN = auto()
    RESET = auto()
    SLOW = auto()
    SILENT = auto()
    RATE_LIMITED = auto()
    ERROR = auto()
    TRUNCATED = auto()
    GARBAGE = auto()
    WRONG_DIGEST = auto()
    ENDLESS = auto()
    TINY_CHUNKS = auto()
    REDIRECT_INSIDE = auto()


_REFUSALS: dict[Fault, tuple[str, ...]] = {
    Fault.RATE_LIMITED: ("429", "Retry-After: 1"),
    Fault.ERROR: ("500",),
    Fault.REDIRECT_INSIDE: ("307", "Location: https://169.254.169.254/latest/meta-data/"),
}


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(slots=True)
class FaultyRegistry:
    """``host`` is HOST:PORT. ``fault`` happens to each answer with the chance ``often``."""

    chance: random.Random
    host: str = ""
    fault: Fault = Fault.NONE
    often: float = 0.7
    tags: dict[str, str] = field(default_factory=dict)
    """``REPOSITORY:TAG`` and its digest."""
    content: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Digests, with media type and content."""
    asked: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    at_once: Counter[str] = field(default_factory=Counter)
    served: Counter[str] = field(default_factory=Counter)
    """Content by digest that was sent whole and right, by its path."""
    duplicates: list[str] = field(default_factory=list)
    """What was asked for while the same was under way, or after it had been sent."""

    def index(self, repository: str, tag: str, *architectures: str, note: str = "") -> str:
        """Push an index; return its digest."""
        rows = [
            {
                "mediaType": OCI_MANIFEST,
                "digest": digest_of(f"{repository}{each}".encode()),
                "size": 400,
                "platform": {"os": "linux", "architecture": each},
            }
            for each in architectures
        ]
        content = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": rows, "annotations": {"note": note}}
        return self._put(repository, tag, OCI_INDEX, json.dumps(content).encode())

    def single(self, repository: str, tag: str, architecture: str) -> str:
        """Push a manifest without an index; return its digest."""
        config = json.dumps({"os": "linux", "architecture": architecture, "of": f"{repository}:{tag}"}).encode()
        self.content[digest_of(config)] = CONFIG_TYPE, config
        descriptor = {"mediaType": CONFIG_TYPE, "digest": digest_of(config), "size": len(config)}
        content = {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": descriptor, "layers": []}
        return self._put(repository, tag, OCI_MANIFEST, json.dumps(content).encode())

    def _put(self, repository: str, tag: str, media_type: str, body: bytes) -> str:
        digest = digest_of(body)
        self.content[digest] = media_type, body
        self.tags[f"{repository}:{tag}"] = digest
        return digest

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[FaultyRegistry]:
        """Serve on a free port of 127.0.0.1."""
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                    await self._connection(reader, writer)
            finally:
                tasks.discard(task)
                with suppress(OSError, RuntimeError):
                    writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        self.host = f"{'localhost' if tls else '127.0.0.1'}:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in tuple(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault is Fault.DOWN:
            self.struck[Fault.DOWN.name] += 1
            writer.transport.abort()
            return
        first = await reader.readexactly(1)
        if first == b"\x16":
            return  # it speaks no TLS
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split(" ", 2)
        key = f"{method} {path}"
        self.asked[key] += 1
        if path in {"/v2/", "/"}:
            await self._send(writer, 200, b"{}")
            return
        if self.at_once[key]:
            self.duplicates.append(f"{key}: while the same is under way")
        if self.served[key]:
            self.duplicates.append(f"{key}: after it was sent")
        self.at_once[key] += 1
        closed = asyncio.ensure_future(reader.read())
        answer = asyncio.ensure_future(self._answer(writer, method, path))
        try:
            # A client that gave up is not waiting any more.
            await asyncio.wait((closed, answer), return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and not answer.cancelled() and answer.exception() is None and answer.result():
                self.served[key] += "sha256:" in path and method == "GET"
        finally:
            self.at_once[key] -= 1
            closed.cancel()
            answer.cancel()
            await asyncio.gather(closed, answer, return_exceptions=True)

    async def _answer(self, writer: asyncio.StreamWriter, method: str, path: str) -> bool:
        """Answer; return whether all of it was right."""
        fault = self.fault if self.chance.random() < self.often else Fault.NONE
        self.struck[fault.name] += 1
        if fault in {Fault.SLOW, Fault.SILENT}:
            await asyncio.sleep(self.chance.uniform(0.5, 3.0) if fault is Fault.SLOW else 30.0)
        if fault in _REFUSALS:
            status, *headers = _REFUSALS[fault]
            await self._send(writer, int(status), b"<html>oops</html>", *headers)
            return False
        repository, _, name = path.removeprefix("/v2/").replace("/blobs/", "/manifests/").partition("/manifests/")
        digest = name if name.startswith("sha256:") else self.tags.get(f"{repository}:{name}", "")
        if digest not in self.content:
            await self._send(writer, 404, b'{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
            return False
        media_type, body = self.content[digest]
        headers = [f"Content-Type: {media_type}", f"Docker-Content-Digest: {digest}"]
        if method == "HEAD":
            await self._send(writer, 200, b"", *headers, f"Content-Length: {len(body)}")
        elif fault in {Fault.ENDLESS, Fault.TINY_CHUNKS, Fault.RESET, Fault.TRUNCATED}:
            await self._broken(writer, fault, body, headers)
        elif fault is Fault.GARBAGE:
            await self._send(writer, 200, self.chance.randbytes(600), headers[0])
        elif fault is Fault.WRONG_DIGEST:
            await self._send(writer, 200, body.replace(b"linux", b"linuy"), *headers)
        else:
            await self._send(writer, 200, body, *headers)
            return True
        return False

    async def _send(self, writer: asyncio.StreamWriter, status: int, body: bytes, *headers: str) -> None:
        rows = [*headers, "Connection: close"]
        if not any(row.startswith("Content-Length") for row in rows):
            rows.append(f"Content-Length: {len(body)}")
        writer.write(f"HTTP/1.1 {status} Answer\r\n{CRLF.join(rows)}\r\n\r\n".encode() + body)
        await writer.drain()

    async def _broken(self, writer: asyncio.StreamWriter, fault: Fault, body: bytes, headers: list[str]) -> None:
        rows = "\r\n".join((*headers, "Connection: close"))
        if fault in {Fault.RESET, Fault.TRUNCATED}:
            writer.write(f"HTTP/1.1 200 OK\r\n{rows}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:100])
            await writer.drain()
            if fault is Fault.RESET:
                writer.transport.abort()
            return
        piece = b"1\r\n{\r\n" * 500 if fault is Fault.TINY_CHUNKS else b"1000\r\n" + b"{" * 4096 + b"\r\n"
        writer.write(f"HTTP/1.1 200 OK\r\n{rows}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        ends = time.monotonic() + 3.0
        while time.monotonic() < ends:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
