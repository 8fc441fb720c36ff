"""The webhook's HTTP server: reviews over HTTPS, and what the kubelet and Prometheus ask for over HTTPS and HTTP.

aiohttp's server without its router: with it, a review takes half as long again.
"""

from __future__ import annotations

import asyncio
import errno
import json
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from aiohttp import StreamReader, web

from multiarch.errors import OutsideError
from multiarch.facts.admission import Mode
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.review import FailureReason, ReviewError

MUTATE = "/mutate"
INVALID_MODE = f"{MUTATE}/invalid-mode"
_MODES = MappingProxyType({MUTATE: None} | {f"{MUTATE}/{mode}": mode for mode in Mode})
_READS = frozenset(("GET", "HEAD"))
_INCOMPLETE = "incomplete"
"""The reason of a failure: the body did not arrive, or not in time."""
_JSON = "application/json"
_KEEP_ALIVE = 120.0
"""Longer than an API server keeps an idle connection (90 s), so that it is the one to close it."""
_HANDSHAKE_SECONDS = 10.0
_HEADERS_SECONDS = 10.0
"""The most time from the connection to the end of the first request's headers; later ones have _KEEP_ALIVE."""
_BACKLOG = 1024


class Reviews(Protocol):
    """Answers reviews."""

    def review_now(self, body: bytes, mode: Mode | None) -> bytes | None:
        """The answer, or None if an image has to be looked up. Raises ReviewError."""
        ...

    async def review(self, body: bytes, mode: Mode | None) -> bytes:
        """The answer. Raises ReviewError."""
        ...

    def review_in_invalid_mode(self, body: bytes) -> bytes:
        """The answer for a namespace whose label is not a mode. Raises ReviewError."""
        ...


@dataclass(frozen=True, slots=True)
class Listening:
    """Where and how much the server takes. ``address`` None is every address of the machine."""

    address: str | None = None
    port: int = 8443
    metrics_port: int = 8080
    body_bytes: int = 3072 * 1024
    body_seconds: float = 5.0
    """The most time for a body to arrive: the API server itself waits for 3 s."""
    headers_seconds: float = _HEADERS_SECONDS
    connections: int = 1000
    """The most open connections over TLS, and as many without."""


class Server:
    """The endpoints. ``reviews`` decides; ``ready`` returns why the server should get no requests, or an empty text.

    ``failed`` is told, as an Observer is, of requests whose body can't be read. Default: only ``metrics``.
    """

    def __init__(
        self,
        listening: Listening,
        reviews: Reviews,
        metrics: Metrics,
        ready: Callable[[], str],
        failed: Callable[[str, str], None] | None = None,
    ) -> None:
        """Listen nowhere yet."""
        self._failed = metrics.failed if failed is None else failed
        self._listening = listening
        self._reviews = reviews
        self._metrics = metrics
        self._ready = ready
        self._listeners: list[asyncio.Server] = []
        self._servers: list[_Connections] = []
        self._pages = MappingProxyType(
            {"/livez": self._live, "/healthz": self._live, "/readyz": self._is_ready, "/metrics": self._show_metrics}
        )
        self._draining = False
        self._idle = asyncio.Event()
        self.requests = 0
        """Requests that are being answered."""
        self._silent: dict[asyncio.BaseProtocol, asyncio.TimerHandle] = {}
        self.ports: tuple[int, ...] = ()
        """The ports in use: HTTPS, then HTTP."""
        metrics.watch_server(lambda: self.requests, lambda: sum(each.open for each in self._servers))

    async def start(self, context: ssl.SSLContext) -> None:
        """Listen. Raises OutsideError if a port can't be used."""
        for port, option, handler, tls in (
            (self._listening.port, "--port", self._answer, context),
            (self._listening.metrics_port, "--metrics-port", self._answer_plain, None),
        ):
            await self._listen(port, option, handler, tls)

    async def _listen(
        self,
        port: int,
        option: str,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        tls: ssl.SSLContext | None,
    ) -> None:
        server = _Connections(handler, self._listening, self._silent, self._metrics.refused)
        handshake = None if tls is None else _HANDSHAKE_SECONDS
        try:
            listener = await asyncio.get_running_loop().create_server(
                server, self._listening.address, port, ssl=tls, backlog=_BACKLOG, ssl_handshake_timeout=handshake
            )
        except OSError as error:
            await self.close(0.0)
            raise OutsideError(_why_not(error, self._listening.address, port), hint=_hint(error, option)) from error
        self._servers.append(server)
        self._listeners.append(listener)
        self.ports += (listener.sockets[0].getsockname()[1],)

    def drain(self) -> None:
        """Stop being ready. Each answer closes its connection from now on: the client's next is to another replica."""
        self._draining = True

    async def finished(self, seconds: float) -> bool:
        """Take no new connections, and wait until no request is under way. Returns False if that takes longer."""
        self._stop_listening()
        if self.requests:
            self._idle.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), seconds)
        return not self.requests

    async def close(self, seconds: float) -> None:
        """Close all connections, after at most ``seconds`` for answers that are being sent."""
        self._stop_listening()
        for server in self._servers:
            server.pre_shutdown()
        for server in self._servers:
            await server.shutdown(seconds)

    def _stop_listening(self) -> None:
        for listener in self._listeners:
            listener.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request over HTTPS."""
        self.requests += 1
        if self._silent:
            self._heard(request)
        try:
            path = request.raw_path.partition("?")[0]
            if path in _MODES or path == INVALID_MODE:
                response = await self._review(request, path)
            else:
                response = self._page(request, path)
        finally:
            self.requests -= 1
            if self._draining and not self.requests:
                self._idle.set()
        return self._finish(response)

    async def _answer_plain(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request over HTTP: there are no reviews here."""
        self._heard(request)
        return self._finish(self._page(request, request.raw_path.partition("?")[0]))

    def _heard(self, request: web.BaseRequest) -> None:
        """Note that a connection has sent a request."""
        timer = self._silent.pop(request.protocol, None)
        if timer is not None:
            timer.cancel()

    def _finish(self, response: web.Response) -> web.Response:
        if self._draining:
            response.force_close()
        self._metrics.responded(response.status)
        return response

    async def _review(self, request: web.BaseRequest, path: str) -> web.Response:
        if request.method != "POST":
            return _error(405, f"{path} takes POST.", Allow="POST")
        try:
            body = await self._body(request)
            if path == INVALID_MODE:
                answer = self._reviews.review_in_invalid_mode(body)
            else:
                mode = _MODES[path]
                now = self._reviews.review_now(body, mode)
                answer = await self._reviews.review(body, mode) if now is None else now
        except ReviewError as error:
            return _error(400, error.message)
        except _BodyError as error:
            self._failed(error.reason, error.text)
            response = _error(error.status, error.text)
            response.force_close()
            return response
        return web.Response(body=answer, content_type=_JSON)

    async def _body(self, request: web.BaseRequest) -> bytes:
        """The request's body. Raises _BodyError if it is too large or too slow."""
        content, most = request.content, self._listening.body_bytes
        if (request.content_length or 0) > most:
            raise _BodyError(413, FailureReason.TOO_LARGE, f"The request has more than {most} bytes.")
        if content.is_eof():
            # The usual case: all of it came at once.
            body = content.read_nowait(-1)
        else:
            body = await self._rest(content)
        if len(body) > most:
            raise _BodyError(413, FailureReason.TOO_LARGE, f"The request has more than {most} bytes.")
        return body

    async def _rest(self, content: StreamReader) -> bytes:
        most, seconds = self._listening.body_bytes, self._listening.body_seconds
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                while part := await content.readany():
                    body += part
                    if len(body) > most:
                        break
        except TimeoutError:
            raise _BodyError(408, _INCOMPLETE, f"The request did not arrive within {seconds:g} s.") from None
        except (ConnectionError, web.RequestPayloadError):
            raise _BodyError(400, _INCOMPLETE, "The request is incomplete.") from None
        return bytes(body)

    def _page(self, request: web.BaseRequest, path: str) -> web.Response:
        """Answer a GET request."""
        page = self._pages.get(path)
        if page is None:
            return _error(404, "There is nothing at this path.")
        if request.method not in _READS:
            return _error(405, f"{path} takes GET.", Allow="GET, HEAD")
        return page(request)

    def _live(self, _request: web.BaseRequest) -> web.Response:
        return web.Response(text="ok")

    def _is_ready(self, _request: web.BaseRequest) -> web.Response:
        why_not = "the server is shutting down" if self._draining else self._ready()
        return web.Response(text=why_not or "ok", status=503 if why_not else 200)

    def _show_metrics(self, request: web.BaseRequest) -> web.Response:
        body, content_type = self._metrics.text(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})


class _BodyError(Exception):
    """A body that can't be read."""

    def __init__(self, status: int, reason: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason
        self.text = text


class _Connections(web.Server):
    """Connections of one port; above their limit, new ones are closed at once.

    ``silent`` are those that have sent no whole request yet, of all ports; each has a timer that closes it.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        listening: Listening,
        silent: dict[asyncio.BaseProtocol, asyncio.TimerHandle],
        refused: Callable[[], None],
    ) -> None:
        # Compressed bodies are not unpacked: they could be much larger than their limit.
        super().__init__(
            handler, access_log=None, keepalive_timeout=_KEEP_ALIVE, auto_decompress=False, lingering_time=1.0
        )
        self.open = 0
        self._most = listening.connections
        self._seconds = listening.headers_seconds
        self._silent = silent
        self._refused = refused

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self.open += 1
        if self.open > self._most:
            self._refused()
            transport.abort()
            return
        self._silent[handler] = asyncio.get_running_loop().call_later(self._seconds, transport.abort)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self.open -= 1
        timer = self._silent.pop(handler, None)
        if timer is not None:
            timer.cancel()


def _error(status: int, text: str, **headers: str) -> web.Response:
    return web.Response(text=json.dumps({"error": text}) + "\n", status=status, content_type=_JSON, headers=headers)


def _why_not(error: OSError, address: str | None, port: int) -> str:
    where = f"Port {port}" if address is None else f"Port {port} of {address}"
    match error.errno:
        case errno.EADDRINUSE:
            return f"{where} is already in use."
        case errno.EACCES:
            return f"{where} can't be used: this user may not listen on ports below 1024."
        case errno.EADDRNOTAVAIL:
            return f"{where} can't be used: this machine does not have the address."
        case _:
            return f"{where} can't be used: {error.strerror or error}."


def _hint(error: OSError, option: str) -> str:
    if error.errno == errno.EADDRNOTAVAIL:
        return "Give another --address."
    return (
        f"Stop the program that uses it, or give another {option}."
        if error.errno == errno.EADDRINUSE
        else f"Give another {option}."
    )
