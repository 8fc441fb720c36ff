"""Stand-ins for GitLab's and GitHub's APIs of comments and issues: HTTP servers on the loopback address.

They page, check tokens and sizes, and answer as those APIs do, with the same fields, as far as tests look.
Every request is recorded. A fault takes the place of the answer to one request; a hook runs before one.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

TOKEN = "glpat-or-ghs-0123456789abcdef"  # noqa: S105 (of the stand-in)


@dataclass(frozen=True)
class Request:
    """What was sent. ``path`` has no query."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """An answer; ``value`` is sent as JSON, bytes as they are."""

    status: int
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Fault:
    """What happens once to a request with this method whose path matches.

    ``reply`` takes the answer's place; without one the connection breaks, ``done`` says whether after the request was
    carried out.
    """

    method: str
    path: str
    reply: Reply | None = None
    done: bool = False


class StandIn:
    """One service. ``comments`` and ``issues`` are entries of any author, by number."""

    USER: str
    COMMENTS: str
    COMMENT: str
    ISSUES: str
    AUTHOR: tuple[str, str]
    TEXT, KEY, OPEN, LIMIT = "body", "number", "open", 65_536

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.before: Callable[[Request], None] = lambda _request: None
        self.lock = threading.RLock()
        self.next_id = 1
        self.comments: dict[int, dict[str, Any]] = {}
        self.issues: dict[int, dict[str, Any]] = {}

    @property
    def bodies(self) -> list[str]:
        """The Markdown of all comments, the oldest first."""
        return [str(self.comments[number]["body"]) for number in sorted(self.comments)]

    def answer(self, request: Request) -> Reply | None:
        """Return the answer; None for a connection that breaks."""
        self.requests.append(request)
        self.before(request)
        for fault in self.faults:
            if fault.method == request.method and re.search(fault.path, request.path):
                self.faults.remove(fault)
                if fault.done:
                    self.reply(request)
                return fault.reply
        with self.lock:
            return self.reply(request)

    def comment(self, body: str, user: str = "") -> int:
        """Add a comment; return its number."""
        return self._add(self.comments, {"body": body}, user)

    def _add(self, entries: dict[int, dict[str, Any]], values: Mapping[str, Any], user: str = "") -> int:
        self.next_id += 1
        number, (author, name) = self.next_id, self.AUTHOR
        url = f"https://git.example.com/team/clusters/-/issues/{number}"
        entries[number] = {"id": number, author: {name: user or self.USER}, **values}
        if entries is self.issues:
            entries[number] |= {self.KEY: number, "state": self.OPEN, "web_url": url, "html_url": url}
        return number

    def reply(self, request: Request) -> Reply:
        if request.headers.get("Authorization", "").split()[-1:] != [TOKEN]:
            return Reply(401, {"message": "Bad credentials"})
        if len(request.body.get(self.TEXT, request.body.get("body", ""))) > self.LIMIT:
            return Reply(422, {"message": "body is too long"})
        listed = {self.COMMENTS: self.comments, self.ISSUES: self.issues}.get(request.path)
        return self._one(request) if listed is None else self._all(request, listed)

    def _all(self, request: Request, entries: dict[int, dict[str, Any]]) -> Reply:
        if request.method == "POST":
            return Reply(201, entries[self._add(entries, request.body)])
        wanted = request.query.get("state", self.OPEN)
        rows = [entries[each] for each in sorted(entries) if entries[each].get("state", self.OPEN) == wanted]
        size, page = int(request.query["per_page"]), int(request.query["page"])
        return Reply(200, rows[(page - 1) * size : page * size])

    def _one(self, request: Request) -> Reply:
        folder, _, last = request.path.rpartition("/")
        entries = {self.COMMENT: self.comments, self.ISSUES: self.issues}.get(folder, {})
        number = int(last) if last.isdigit() else 0
        if number not in entries:
            return Reply(404, {"message": "404 Not found"})
        if request.method == "DELETE":
            del entries[number]
            return Reply(204)
        closed = {"state": "closed"} if request.body.get("state_event") == "close" else {}
        entries[number] |= {**request.body, **closed}
        return Reply(200, entries[number])


class GitLabStandIn(StandIn):
    """Project 7 (``team/clusters``) with merge request 3; the token is that of a project's bot."""

    USER, AUTHOR = "project_7_bot", ("author", "username")
    ISSUES = "/api/v4/projects/7/issues"
    COMMENTS = COMMENT = "/api/v4/projects/7/merge_requests/3/notes"
    TEXT, KEY, OPEN, LIMIT = "description", "iid", "opened", 1_000_000

    def reply(self, request: Request) -> Reply:
        reply = super().reply(request)
        return Reply(200, {"username": self.USER}) if reply.status == 404 and request.path == "/api/v4/user" else reply


class GitHubStandIn(StandIn):
    """Repository ``team/clusters`` with pull request 3; the token is that of GitHub Actions' own app."""

    USER, AUTHOR = "github-actions[bot]", ("user", "login")
    ISSUES = "/repos/team/clusters/issues"
    COMMENTS, COMMENT = f"{ISSUES}/3/comments", f"{ISSUES}/comments"

    def reply(self, request: Request) -> Reply:
        reply = super().reply(request)
        viewer = {"data": {"viewer": {"login": self.USER}}}
        return Reply(200, viewer) if reply.status == 404 and request.path == "/graphql" else reply


@contextmanager
def serving(stand_in: StandIn, tls: ssl.SSLContext | None = None) -> Iterator[StandIn]:
    """Serve on a free port until the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one packet: a second one would wait for the first

        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            sent = json.loads(content) if content else {}
            request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), dict(self.headers.items()), sent)
            reply = stand_in.answer(request)
            if reply is None:
                self.close_connection = True
                return
            body = reply.value if isinstance(reply.value, bytes) else json.dumps(reply.value).encode()
            body = b"" if reply.value is None else body
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 (http.server's names)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        stand_in.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()
