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
_HANDSHAKE_SECONDS = 10.0
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
    bodies_bytes: int = 32 * 1024 * 1024
    """Maximum bytes of all bodies that are arriving at the same time."""
    body_seconds: float = 3.0
    """Maximum time for a body to arrive, which is how long the API server waits for the answer."""
    connections: int = 1000
    """Maximum open connections over TLS, and as many without: the oldest idle one makes room for a new one."""


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
        self._accepting: list[asyncio.Server] = []
        self._busy: set[asyncio.BaseProtocol] = set()
        """Connections whose request is being answered."""
        self._draining = False
        self._arriving = 0
        """Bytes of the bodies that are arriving."""
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
            middlewares=[web.middleware(partial(self._count, tls is not None))],
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
        self._runners.append(runner)
        self.ports += (listening.getsockname()[1],)
        accepting = await asyncio.get_running_loop().create_server(
            partial(self._accept, runner),
            sock=listening,
            ssl=tls,
            backlog=_BACKLOG,
            ssl_handshake_timeout=None if tls is None else _HANDSHAKE_SECONDS,
        )
        self._accepting.append(accepting)

    def _accept(self, runner: web.AppRunner) -> asyncio.BaseProtocol:
        """Return the protocol of a new connection, and close the oldest idle one if there are too many."""
        if runner.server is None:
            raise RuntimeError("an application that is set up has a server")
        connections = runner.server.connections
        if len(connections) >= self._listening.connections:
            self._metrics.rejected.inc()
            idle = next((each for each in connections if each not in self._busy), None)
            if idle is None:
                return _Rejected()
            idle.force_close()
        return runner.server()

    def _count_connections(self) -> int:
        return sum(len(each.server.connections) for each in self._runners if each.server is not None)

    def drain(self) -> None:
        """Stop being ready. Each answer closes its connection from now on: the client's next is to another replica."""
        self._draining = True

    async def close(self, seconds: float) -> bool:
        """Accept no new connections, and close all after at most ``seconds`` for the requests that are being answered.

        Return False if some were not finished.
        """
        for each in self._accepting:
            each.close()
        ends = time.monotonic() + seconds
        while self.requests and time.monotonic() < ends:  # noqa: ASYNC110 (a counter has no event)
            await asyncio.sleep(_POLL_SECONDS)
        finished = not self.requests
        for runner in self._runners:
            if runner.server is not None:
                runner.server.pre_shutdown()
                await runner.server.shutdown(_CLOSE_SECONDS)
            await runner.cleanup()
        return finished

    async def _count(self, over_tls: bool, request: web.Request, handler: _Handler) -> web.StreamResponse:  # noqa: FBT001
        """Answer a request of a port's application: aiohttp's middleware."""
        self.requests += over_tls
        self._busy.add(request.protocol)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            response = _error(error.status, f"{request.method} {error.reason}.", **allow)
        finally:
            self.requests -= over_tls
            self._busy.discard(request.protocol)
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


class _Rejected(asyncio.Protocol):
    """A connection that is closed at once: all others are busy."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


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
