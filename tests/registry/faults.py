"""A proxy of the tests' own in front of a registry: it spoils answers in the ways that networks and servers do."""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.registry.server import Server

_OWN_HEADERS = frozenset({"content-length", "date", "server", "connection"})


class Fault(Enum):
    """What happens to an answer."""

    SILENT = auto()
    SLOW = auto()
    DROPPED = auto()
    RESET = auto()
    TRUNCATED = auto()
    RATE_LIMITED = auto()
    ERROR = auto()
    WRONG_DIGEST = auto()
    OVERSIZED = auto()
    ENDLESS = auto()
    REDIRECTS = auto()
    CIRCLE = auto()
    GARBAGE = auto()
    COMPRESSED = auto()
    LOGIN_PAGE = auto()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass(slots=True)
class Proxy:
    """A running proxy. ``fault`` happens to the next ``times`` answers about manifests, blobs and tags.

    ``retry_after`` goes with 429.
    """

    upstream: Server
    fault: Fault | None = None
    times: int = 1_000_000
    retry_after: str = "1"
    asked: list[Asked] = field(default_factory=list)
    host: str = ""
    most_at_once: int = 0
    delay: float = 0.0
    stopped: threading.Event = field(default_factory=threading.Event)
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def strike(self) -> Fault | None:
        """The fault of this answer."""
        with self._lock:
            if self.fault is None or self.times <= 0:
                return None
            self.times -= 1
            return self.fault

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what is going on at the same time."""
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        """Serve on a free port of the loopback address."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        self.host = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.stopped.set()
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def do_GET(self) -> None:
        self.answer()

    def do_HEAD(self) -> None:
        self.answer()

    def answer(self) -> None:
        proxy = self.proxy
        proxy.asked.append(
            Asked(self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
        )
        with proxy.counted():
            proxy.stopped.wait(proxy.delay)
            if self.path == "/v2/":
                self.pass_on(None)
            else:
                self.spoil(proxy.strike())

    def spoil(self, fault: Fault | None) -> None:
        if fault is Fault.SILENT:
            self.proxy.stopped.wait(30)
            self.close_connection = True
        elif fault is Fault.DROPPED:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif fault is Fault.RATE_LIMITED:
            self.plain(429, b'{"errors":[{"code":"TOOMANYREQUESTS"}]}', **{"Retry-After": self.proxy.retry_after})
        elif fault is Fault.ERROR:
            self.plain(500, b"<html>oops</html>")
        elif fault is Fault.REDIRECTS:
            self.plain(307, b"", Location=f"{self.path}{'&' if '?' in self.path else '?'}again=1")
        elif fault is Fault.CIRCLE:
            self.plain(302, b"", Location=self.path)
        elif fault is Fault.LOGIN_PAGE:
            self.plain(200, b"<html>Welcome to our hotel!</html>", **{"Content-Type": "text/html"})
        elif fault is Fault.GARBAGE:
            self.wfile.write(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
            self.close_connection = True
        elif fault is Fault.ENDLESS:
            self.endless()
        else:
            self.pass_on(fault)

    def plain(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def endless(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        piece = b"10000\r\n" + b"{" * 0x10000 + b"\r\n"
        with contextlib.suppress(OSError):
            while not self.proxy.stopped.is_set():
                self.wfile.write(piece)

    def pass_on(self, fault: Fault | None) -> None:
        """What the registry says, spoiled or not."""
        host, _, port = self.proxy.upstream.host.partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in {"host", "connection"}}
        connection.request(self.command, self.path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        length = answer.headers.get("Content-Length", str(len(body)))
        if fault is Fault.WRONG_DIGEST:
            body = body[:-2] + bytes([body[-2] ^ 1]) + body[-1:]
        if fault is Fault.OVERSIZED:
            length = str(10**12)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in _OWN_HEADERS:
                self.send_header(name, value)
        if fault is Fault.COMPRESSED:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.body(fault, body)

    def body(self, fault: Fault | None, body: bytes) -> None:
        if fault in {Fault.TRUNCATED, Fault.RESET, Fault.SLOW, Fault.OVERSIZED}:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            if fault is Fault.SLOW:
                self.proxy.stopped.wait(30)
            if fault is Fault.RESET:
                # No time to linger: the other side gets a reset, not an end.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            return
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def _handler(proxy: Proxy) -> type[_Handler]:
    return type("Handler", (_Handler,), {"proxy": proxy})
