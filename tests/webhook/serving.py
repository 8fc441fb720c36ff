"""A running server for tests: its certificate, its requests, and handlers that do as a test wants."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import uvloop

from multiarch.webhook.certificate import Certificate
from multiarch.webhook.logs import Log, LogLevel
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.review import FailureReason, ReviewError
from multiarch.webhook.server import Listening, Server
from tests.webhook.issuing import Pair, issue

Result = TypeVar("Result")


def pair(days: float = 90.0, *, starting: float = 0.0) -> Pair:
    """A certificate of its own authority for 127.0.0.1; ``starting`` is in days from now."""
    return issue(["localhost"], datetime.now(UTC) + timedelta(days=starting), timedelta(days=days))


def write(folder: Path, made: Pair) -> None:
    """Write a pair as the kubelet does: both files change at once, by a link."""
    version = folder / f"..{os.urandom(4).hex()}"
    version.mkdir()
    (version / "tls.crt").write_bytes(made.certificate)
    (version / "tls.key").write_bytes(made.key)
    link = folder / "..new"
    link.symlink_to(version.name)
    link.rename(folder / "..data")
    for name in ("tls.crt", "tls.key"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")


@dataclass
class Reviews:
    """Answers with what it got; a body ``slow`` waits for ``released``, and ``wrong`` is not a review."""

    released: asyncio.Event = field(default_factory=asyncio.Event)
    began: asyncio.Event = field(default_factory=asyncio.Event)

    async def review(self, body: bytes, mode: str) -> bytes:
        if body == b"wrong":
            raise ReviewError(FailureReason.NOT_JSON, "Not JSON.")
        if body == b"slow":
            self.began.set()
            await self.released.wait()
        return b"%s, %d bytes" % (mode.encode(), len(body))


@dataclass
class Serving:
    """A server, and a client of it that trusts its first certificate."""

    server: Server
    reviews: Reviews
    metrics: Metrics
    certificate: Certificate
    session: aiohttp.ClientSession

    def url(self, path: str) -> str:
        return f"https://localhost:{self.server.ports[0]}{path}"

    def plain(self, path: str) -> str:
        return f"http://localhost:{self.server.ports[1]}{path}"

    async def ask(self, path: str, method: str = "GET", **options: Any) -> tuple[int, str]:
        url = path if path.startswith("http") else self.url(path)
        async with self.session.request(method, url, **options) as response:
            return response.status, await response.text()

    async def review(self, body: bytes = b"{}", path: str = "/mutate") -> tuple[int, str]:
        return await self.ask(path, "POST", data=body)


def trusting(*pairs: Pair) -> ssl.SSLContext:
    """A client's context that trusts only the authorities of these pairs."""
    return ssl.create_default_context(cadata="\n".join(each.authority.decode() for each in pairs))


@asynccontextmanager
async def serving(
    folder: Path, *trusted: Pair, log: Log | None = None, ready: Callable[[], str] = str, **listening: Any
) -> AsyncIterator[Serving]:
    """A server with the pair in ``folder``; the client trusts ``trusted`` and the certificate that is there."""
    if not (folder / "tls.crt").exists():
        trusted = (pair(), *trusted)
        write(folder, trusted[0])
    metrics, reviews = Metrics(), Reviews()
    silent = Log(LogLevel.ERROR, descriptor=os.open(os.devnull, os.O_WRONLY)) if log is None else log
    certificate = Certificate(folder, metrics, silent)
    server = Server(Listening("127.0.0.1", 0, 0, **listening), reviews.review, metrics, ready, metrics.failed)
    await server.start(certificate.listening)
    connector = aiohttp.TCPConnector(ssl=trusting(*trusted), limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        try:
            yield Serving(server, reviews, metrics, certificate, session)
        finally:
            reviews.released.set()
            await server.close(0.1)
            silent.close()


def run(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run a test's coroutine in the server's own event loop."""

    async def main() -> Result:
        return await work()

    return uvloop.run(main())
