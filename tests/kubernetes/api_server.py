"""A stand-in for an API server that answers what a test says: for what a real one does only under load or in time.

It shows how answers are taken, and nothing about when a real server gives them; ``tests/cluster`` reads a real one.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, object, Mapping[str, str]]
"""Status, object (or bytes as they are), headers."""


@dataclass(frozen=True)
class Request:
    """What was requested; headers in small letters. ``peer`` is the name in the client's certificate, if it has one."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    peer: str
    method: str = "GET"
    body: bytes = b""


@dataclass
class ApiServer:
    """A server that runs: ``url``, and ``requests`` in the order in which they came."""

    url: str
    requests: list[Request] = field(default_factory=list)


class _EveryMethod(BaseHTTPRequestHandler):
    """Answers what writes as what reads."""

    def do_GET(self) -> None:
        raise NotImplementedError

    def do_PATCH(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()


@contextlib.contextmanager
def serving(
    answer: Callable[[Request], Answer], *, pair: tuple[Path, Path] | None = None, clients: Path | None = None
) -> Iterator[ApiServer]:
    """Serve until the end of the ``with``; ``pair`` for TLS, ``clients`` the authority of clients' certificates."""
    made = ApiServer("")

    class Handler(_EveryMethod):
        protocol_version = "HTTP/1.1"
        # One write per answer: with two, the second waits 40 ms for the acknowledgement of the first.
        wbufsize = -1

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            peer = ""
            if isinstance(self.connection, ssl.SSLSocket) and (shown := self.connection.getpeercert()):
                peer = str(shown["subject"][0][0][1])
            length = int(self.headers.get("Content-Length") or 0)
            request = Request(
                parts.path,
                dict(parse_qsl(parts.query)),
                {key.lower(): text for key, text in self.headers.items()},
                peer,
                self.command,
                self.rfile.read(length),
            )
            made.requests.append(request)
            status, value, headers = answer(request)
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for key, text in headers.items():
                self.send_header(key, text)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that does not trust it hangs up: tests are about what it says then."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if pair is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    made.url = f"{'http' if pair is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def listed(names: list[str], *, more: str = "") -> Answer:
    """A page of a list of pods."""
    items: list[dict[str, Any]] = [{"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {}} for name in names]
    return 200, {"kind": "PodList", "metadata": {"continue": more}, "items": items}, {}


def rejected(status: int, reason: str = "", message: str = "", **headers: str) -> Answer:
    """A Status object."""
    return status, {"kind": "Status", "reason": reason, "message": message}, headers
