"""The webhook's HTTP server: reviews over HTTPS, and what the kubelet and Prometheus get over HTTPS and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from multiarch.errors import OutsideError
from multiarch.facts.admission import Mode
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
_MODES = {MUTATE: "", INVALID_MODE: INVALID} | {f"{MUTATE}/{mode}": mode for mode in Mode}
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
    bodies_bytes: int = 32 * 1024 * 1024
    """Maximum bytes of all bodies that are arriving at the same time."""
    body_seconds: float = 3.0
    """Maximum time for a body to arrive, which is how long the API server waits for the answer."""
    connections: int = 1000
    """Maximum open connections over TLS, and as many without."""


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
        self._arriving = 0
        """Bytes of the bodies that are arriving."""
        self.requests = 0
        """Requests over HTTPS that are being answered."""
        self.ports: tuple[int, ...] = ()
        """The ports in use: HTTPS, then HTTP."""
        metrics.watch_server(lambda: self.requests, lambda: sum(map(len, self._connections)))

    async def start(self, context: Callable[[], ssl.SSLContext]) -> None:
        """Listen; ``context`` returns the TLS context of a new connection. Raises OutsideError for an unusable port."""
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

    async def _serve(self, listening: socket.socket, tls: Callable[[], ssl.SSLContext] | None) -> None:
        count = web.middleware(partial(self._count, len(self._connections)))
        application = web.Application(middlewares=[count], client_max_size=self._listening.body_bytes)
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
        self._runners.append(runner)
        if runner.server is None:
            raise RuntimeError("an application that is set up has a server")
        connections = Connections(runner.server, tls, self._listening.connections, self._metrics.refused.inc)
        self._connections.append(connections)
        self.ports += (listening.getsockname()[1],)
        connections.accept(listening)

    def drain(self) -> None:
        """Stop being ready. Each answer closes its connection from now on: the client's next is to another replica."""
        self._draining = True

    async def finish(self, seconds: float) -> bool:
        """Accept no new connections, and wait until no request is under way. Return False if that takes longer."""
        for each in self._connections:
            each.stop()
        return all(await asyncio.gather(*(each.finish(seconds) for each in self._connections)))

    async def close(self, seconds: float) -> None:
        """Close all connections, after at most ``seconds`` for answers that are being sent."""
        await asyncio.gather(*(each.close() for each in self._connections))
        for runner in self._runners:
            if runner.server is not None:
                runner.server.pre_shutdown()
                await runner.server.shutdown(seconds)
            await runner.cleanup()

    async def _count(self, port: int, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Answer a request of a port's application: aiohttp's middleware."""
        connections, counted = self._connections[port], int(port == 0)
        self.requests += counted
        connections.begin(request.protocol)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            response = _error(error.status, f"{request.method} {error.reason}.", **allow)
        finally:
            self.requests -= counted
            connections.end(request.protocol)
        if self._draining:
            response.force_close()
        self._metrics.responses.labels(str(response.status)).inc()
        return response

    async def _review(self, mode: str, request: web.Request) -> web.Response:
        try:
            return web.Response(body=await self._answer(await self._body(request), mode), content_type=_JSON)
        except ReviewError as error:
            return _error(400, error.message)
        except _BodyError as error:
            self._failed(error.reason, str(error))
            response = _error(error.status, str(error))
            response.force_close()
            return response

    async def _body(self, request: web.Request) -> bytes:
        """Read the body. Raises _BodyError if it is too large or too slow, and if too many are arriving."""
        found = self._listening
        size = request.content_length
        size = found.body_bytes if size is None else size
        if size > found.body_bytes:
            raise _BodyError(413, FailureReason.TOO_LARGE, f"The request has more than {found.body_bytes} bytes.")
        if self._arriving + size > found.bodies_bytes:
            text = f"Requests with more than {found.bodies_bytes} bytes are arriving already."
            raise _BodyError(503, _INCOMPLETE, text)
        self._arriving += size
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
        finally:
            self._arriving -= size

    async def _live(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")

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
