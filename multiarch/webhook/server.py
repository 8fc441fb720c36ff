"""The webhook's HTTP server: reviews over HTTPS, and what the kubelet and Prometheus get over HTTPS and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from multiarch.errors import OutsideError
from multiarch.facts.admission import AdmissionMode
from multiarch.webhook.connections import Connections
from multiarch.webhook.handler import INVALID
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.review import FailureReason, ReviewError

MUTATE = "/mutate"
INVALID_MODE = f"{MUTATE}/invalid-mode"
_INCOMPLETE = "incomplete"
"""The reason of a failure: the body did not arrive, or not in time."""
_JSON = "application/json"
_KEEP_ALIVE = 120.0
"""Longer than an API server keeps an idle connection (90 s), so that it is the one to close it."""
_BACKLOG = 1024
_POLL_SECONDS = 0.02
_CLOSE_SECONDS = 0.5
"""Maximum time for answers that are being sent."""
_MODES = {MUTATE: "", INVALID_MODE: INVALID} | {f"{MUTATE}/{mode}": mode for mode in AdmissionMode}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Review = Callable[[bytes, str], Awaitable[bytes]]
"""Answers a review in a mode, as ``Handler.review`` does. Raises ReviewError."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where and how much the server accepts. ``address`` None is every address of the machine."""

    address: str | None = None
    port: int = 8443
    metrics_port: int = 8080
    body_bytes: int = 3072 * 1024
    bodies_bytes: int = 12 * 1024 * 1024
    """Maximum bytes of all bodies whose reviews are not answered yet."""
    body_seconds: float = 3.0
    """Maximum time for a body to arrive, which is how long the API server waits for the answer."""
    connections: int = 128
    """Maximum open connections to one of the ports: the longest idle one makes room for a new one. TLS takes up to 1 MB
    for one whose client sends faster than is read.
    """


class Server:
    """The endpoints. ``review`` decides; ``ready`` returns why the server should get no requests, or an empty string.

    ``failed`` is told, as an Observer is, of requests whose body can't be read.
    """

    def __init__(
        self,
        listening: Listening,
        review: Review,
        metrics: Metrics,
        ready: Callable[[], str],
        failed: Callable[[str, str], None],
    ) -> None:
        """Listen nowhere yet."""
        self._failed = failed
        self._listening = listening
        self._answer = review
        self._metrics = metrics
        self._ready = ready
        self._runners: list[web.AppRunner] = []
        self._connections: list[Connections] = []
        self._draining = False
        self._held = 0
        """Bytes of the bodies whose reviews are not answered yet."""
        self.requests = 0
        """Requests over HTTPS that are being answered."""
        self.ports: tuple[int, ...] = ()
        """The ports in use: HTTPS, then HTTP."""
        metrics.watch_server(lambda: self.requests, self._count_connections)

    async def start(self, context: ssl.SSLContext) -> None:
        """Listen with the TLS ``context``. Raises OutsideError for a port that can't be used."""
        found = self._listening
        for port, option, tls in ((found.port, "--port", context), (found.metrics_port, "--metrics-port", None)):
            try:
                listening = _listen(found.address, port)
            except OSError as error:
                await self.close(0.0)
                where = f"Port {port}" if found.address is None else f"Port {port} of {found.address}"
                hint = f"Stop the program that uses it, or give another {option} or --address."
                raise OutsideError(f"{where} can't be used: {os.strerror(error.errno or 0)}.", hint=hint) from error
            await self._serve(listening, tls)

    async def _serve(self, listening: socket.socket, tls: ssl.SSLContext | None) -> None:
        application = web.Application(
            middlewares=[web.middleware(partial(self._count, len(self._runners)))],
            client_max_size=self._listening.body_bytes,
        )
        pages = {
            "/livez": self._live,
            "/healthz": self._live,
            "/readyz": self._is_ready,
            "/metrics": self._show_metrics,
        }
        for path, page in pages.items():
            application.router.add_get(path, page)
        if tls is not None:
            for path, mode in _MODES.items():
                application.router.add_post(path, partial(self._review, mode))
        # Compressed bodies are not unpacked: they could be much larger than their limit.
        runner = web.AppRunner(
            application, access_log=None, keepalive_timeout=_KEEP_ALIVE, auto_decompress=False, lingering_time=1.0
        )
        await runner.setup()
        if runner.server is None:
            raise RuntimeError("an application that is set up has a server")
        self._runners.append(runner)
        self.ports += (listening.getsockname()[1],)
        most, full = self._listening.connections, self._metrics.rejected.inc
        self._connections.append(Connections(runner.server, listening, tls, most, full))

    def _count_connections(self) -> int:
        return sum(map(len, self._connections))

    def drain(self) -> None:
        """Stop being ready. Each answer closes its connection from now on: the client's next is to another replica."""
        self._draining = True

    async def close(self, seconds: float) -> bool:
        """Accept no new connections, and close all after at most ``seconds`` for the requests that are being answered.

        Return False if some were not finished.
        """
        for each in self._connections:
            await each.stop()
        ends = time.monotonic() + seconds
        while self._count_unanswered() and time.monotonic() < ends:  # noqa: ASYNC110 (a counter has no event)
            await asyncio.sleep(_POLL_SECONDS)
        for each in self._connections:
            each.close()
        finished = not self.requests
        for runner in self._runners:
            if runner.server is not None:
                runner.server.pre_shutdown()
                await runner.server.shutdown(_CLOSE_SECONDS)
            await runner.cleanup()
        return finished

    def _count_unanswered(self) -> int:
        """Count the requests that are being answered, or whose connection was opened for them a moment ago."""
        return self.requests + sum(each.count_expected() for each in self._connections)

    async def _count(self, port: int, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Answer a request of a port's application: aiohttp's middleware."""
        over_tls = port == 0
        self.requests += over_tls
        self._connections[port].begin(request.protocol)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            response = _error(error.status, f"{request.method} {error.reason}.", **allow)
        finally:
            self.requests -= over_tls
            self._connections[port].end(request.protocol)
        if self._draining:
            response.force_close()
        self._metrics.responses.labels(str(response.status)).inc()
        return response

    async def _review(self, mode: str, request: web.Request) -> web.Response:
        size = request.content_length
        size = self._listening.body_bytes if size is None else size
        self._held += size
        try:
            body = await self._body(request, size)
            return web.Response(body=await self._answer(body, mode), content_type=_JSON)
        except ReviewError as error:
            return _error(400, error.message)
        except _BodyError as error:
            self._failed(error.reason, str(error))
            response = _error(error.status, str(error))
            response.force_close()
            return response
        finally:
            self._held -= size

    async def _body(self, request: web.Request, size: int) -> bytes:
        """Read the body. Raises _BodyError if it is too large or too slow, and if too many are held."""
        found = self._listening
        if size > found.body_bytes:
            raise _BodyError(413, FailureReason.TOO_LARGE, f"The request has more than {found.body_bytes} bytes.")
        if self._held > found.bodies_bytes:
            text = f"Requests with more than {found.bodies_bytes} bytes are not answered yet."
            raise _BodyError(503, _INCOMPLETE, text)
        try:
            async with asyncio.timeout(found.body_seconds):
                return await request.read()
        except web.HTTPRequestEntityTooLarge:
            text = f"The request has more than {found.body_bytes} bytes."
            raise _BodyError(413, FailureReason.TOO_LARGE, text) from None
        except TimeoutError:
            text = f"The request did not arrive within {found.body_seconds:g} s."
            raise _BodyError(408, _INCOMPLETE, text) from None
        except (ConnectionError, web.RequestPayloadError):
            raise _BodyError(400, _INCOMPLETE, "The request is incomplete.") from None

    async def _live(self, _request: web.Request) -> web.Response:
        failed = any(each.failed for each in self._connections)
        return web.Response(text="a port accepts no connections" if failed else "ok", status=503 if failed else 200)

    async def _is_ready(self, _request: web.Request) -> web.Response:
        why_not = "the server is shutting down" if self._draining else self._ready()
        return web.Response(text=why_not or "ok", status=503 if why_not else 200)

    async def _show_metrics(self, request: web.Request) -> web.Response:
        body, content_type = self._metrics.text(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})


class _BodyError(Exception):
    """A body that can't be read."""

    def __init__(self, status: int, reason: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason


def _error(status: int, text: str, **headers: str) -> web.Response:
    return web.Response(text=json.dumps({"error": text}) + "\n", status=status, content_type=_JSON, headers=headers)


def _listen(address: str | None, port: int) -> socket.socket:
    """Return a socket that listens; without an address on all, of both families where the machine has them."""
    if address is None and socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    family, *_, place = socket.getaddrinfo(address or "0.0.0.0", port, type=socket.SOCK_STREAM)[0]  # noqa: S104
    return socket.create_server(place[:2], family=family, backlog=_BACKLOG)
