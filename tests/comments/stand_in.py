"""Stand-ins for GitLab's and GitHub's APIs of comments and issues: HTTP servers on the loopback address.

They page, check tokens and sizes, and answer as those APIs do, with the same fields and headers, as far as tests look.
Every request is recorded. A fault takes the place of the answer to one request; a hook runs before one.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

TOKEN = "glpat-or-ghs-0123456789abcdef"  # noqa: S105 (of the stand-in)


@dataclass(frozen=True)
class Request:
    """What was asked. ``path`` has no query."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """An answer."""

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
    """What both services share. ``written`` are comments or issues of any author, by number."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.before: Callable[[Request], None] = lambda _request: None
        self.page_size = 100
        self.lock = threading.RLock()
        self.next_id = 1
        self.comments: dict[int, dict[str, Any]] = {}
        self.issues: dict[int, dict[str, Any]] = {}

    @property
    def bodies(self) -> list[str]:
        """The texts of all comments, the oldest first."""
        return [self.text(self.comments[number]) for number in sorted(self.comments)]

    def asked(self, method: str) -> list[str]:
        """The paths of the requests with this method."""
        return [each.path for each in self.requests if each.method == method]

    def answer(self, request: Request) -> Reply | None:
        """The answer; None for a connection that breaks."""
        self.requests.append(request)
        self.before(request)
        for fault in self.faults:
            if fault.method == request.method and re.search(fault.path, request.path):
                self.faults.remove(fault)
                if fault.done:
                    with self.lock:
                        self.reply(request)
                return fault.reply
        with self.lock:
            return self.reply(request)

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id

    def page(self, request: Request, found: Sequence[Any]) -> Reply:
        """One page of a list, with the headers of this service."""
        size = min(int(request.query.get("per_page", "20")), self.page_size)
        number = int(request.query.get("page", "1"))
        more = number * size < len(found)
        return Reply(200, found[(number - 1) * size : number * size], self.links(request, number + 1 if more else None))

    def text(self, value: Mapping[str, Any]) -> str:
        return str(value["body"])

    def reply(self, request: Request) -> Reply:
        raise NotImplementedError

    def links(self, request: Request, following: int | None) -> Mapping[str, str]:
        raise NotImplementedError

    def comment(self, body: str, user: Any = None) -> int:  # noqa: ANN401 (an ID or a login)
        """A comment that is there already; its number."""
        raise NotImplementedError


class GitLabStandIn(StandIn):
    """Project 7 (``team/clusters``) with merge request 3; the token is that of user 50."""

    USER = 50
    ROOT = "/api/v4/projects/7"

    def __init__(self) -> None:
        super().__init__()
        self.keyset = False

    def comment(self, body: str, user: Any = None, *, system: bool = False) -> int:  # noqa: ANN401
        number = self.new_id()
        author = {"id": user or self.USER, "username": f"user{user or self.USER}"}
        self.comments[number] = {"id": number, "body": body, "author": author, "system": system}
        return number

    def reply(self, request: Request) -> Reply:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return Reply(401, {"message": "401 Unauthorized"})
        if request.path == "/api/v4/user":
            return Reply(200, {"id": self.USER, "username": "project_7_bot", "bot": True})
        notes, issues = f"{self.ROOT}/merge_requests/3/notes", f"{self.ROOT}/issues"
        if not request.path.startswith((notes, issues)):
            return Reply(404, {"message": "404 Not found"})
        last = request.path.rpartition("/")[2]
        if request.path in {notes, issues}:
            return self._all(request, self.comments if request.path == notes else self.issues)
        of_notes = request.path.startswith(notes)
        return self._one(request, self.comments if of_notes else self.issues, int(last))

    def _all(self, request: Request, found: dict[int, dict[str, Any]]) -> Reply:
        if request.method == "GET":
            rows = [
                each for each in found.values() if each.get("state", "opened") == request.query.get("state", "opened")
            ]
            author = request.query.get("author_id")
            return self.page(request, [each for each in rows if author in {None, str(each["author"]["id"])}])
        if found is self.comments:
            if len(request.body["body"]) > 1_000_000:
                return Reply(400, {"message": {"note": ["is too long (maximum is 1000000 characters)"]}})
            return Reply(201, self.comments[self.comment(request.body["body"])])
        number = self.new_id()
        address = f"https://gitlab.example.com/team/clusters/-/issues/{number}"
        user = {"id": self.USER}
        self.issues[number] = {"iid": number, "author": user, "state": "opened", "web_url": address, **request.body}
        return Reply(201, self.issues[number])

    def _one(self, request: Request, found: dict[int, dict[str, Any]], number: int) -> Reply:
        if number not in found:
            return Reply(404, {"message": "404 Note Not Found"})
        if request.method == "DELETE":
            del found[number]
            return Reply(204)
        if request.body.get("state_event") == "close":
            found[number]["state"] = "closed"
        found[number].update({key: value for key, value in request.body.items() if key != "state_event"})
        return Reply(200, found[number])

    def links(self, request: Request, following: int | None) -> Mapping[str, str]:
        if following is None:
            return {"X-Next-Page": ""}
        # Behind some proxies the link has another scheme and host than the API.
        query = "&".join(f"{key}={value}" for key, value in {**request.query, "page": str(following)}.items())
        link = {"Link": f'<http://gitlab.internal{request.path}?{query}>; rel="next"'}
        return link if self.keyset else {**link, "X-Next-Page": str(following)}


class GitHubStandIn(StandIn):
    """Repository ``team/clusters`` with pull request 3; the token is that of GitHub Actions' own app."""

    USER = "github-actions[bot]"
    ROOT = "/repos/team/clusters"

    def comment(self, body: str, user: Any = None) -> int:  # noqa: ANN401
        number = self.new_id()
        address = f"https://github.com/team/clusters/pull/3#issuecomment-{number}"
        self.comments[number] = {"id": number, "body": body, "user": {"login": user or self.USER}, "html_url": address}
        return number

    def reply(self, request: Request) -> Reply:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return Reply(401, {"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest"})
        if request.path == "/graphql":
            assert "viewer" in request.body["query"]
            return Reply(200, {"data": {"viewer": {"login": self.USER}}})
        if request.path == f"{self.ROOT}/issues/3/comments":
            return self._comments(request)
        if request.path == f"{self.ROOT}/issues":
            return self._issues(request)
        return self._one(request)

    def _one(self, request: Request) -> Reply:
        kind, _, last = request.path.removeprefix(f"{self.ROOT}/").rpartition("/")
        found = {"issues/comments": self.comments, "issues": self.issues}.get(kind, {})
        if not last.isdigit() or int(last) not in found:
            return Reply(404, {"message": "Not Found"})
        if request.method == "DELETE":
            del found[int(last)]
            return Reply(204)
        if (refused := self._too_long(request)) is not None:
            return refused
        found[int(last)].update(request.body)
        return Reply(200, found[int(last)])

    def _comments(self, request: Request) -> Reply:
        if request.method == "GET":
            return self.page(request, [self.comments[number] for number in sorted(self.comments)])
        return self._too_long(request) or Reply(201, self.comments[self.comment(request.body["body"])])

    def _issues(self, request: Request) -> Reply:
        if request.method == "GET":
            return self.page(request, [each for each in self.issues.values() if each["state"] == "open"])
        number = self.new_id()
        address = f"https://github.com/team/clusters/issues/{number}"
        user = {"login": self.USER}
        self.issues[number] = {"number": number, "user": user, "state": "open", "html_url": address, **request.body}
        return Reply(201, self.issues[number])

    @staticmethod
    def _too_long(request: Request) -> Reply | None:
        if len(request.body.get("body", "")) <= 65_536:
            return None
        error = {
            "resource": "IssueComment",
            "field": "data",
            "message": "Body is too long (maximum is 65536 characters)",
        }
        return Reply(422, {"message": "Validation Failed", "errors": [error]})

    def links(self, request: Request, following: int | None) -> Mapping[str, str]:
        headers = {"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "900"}
        if following is None:
            return headers
        query = f"per_page={request.query.get('per_page', 30)}&page={following}"
        # GitHub names the repository by its ID in links.
        links = f'<{self.url}/repositories/1{request.path}?{query}>; rel="next", <{self.url}/x?page=9>; rel="last"'
        return {**headers, "Link": links}


@contextmanager
def serving(stand_in: StandIn, tls: ssl.SSLContext | None = None) -> Iterator[StandIn]:
    """Serve on a free port until the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one packet: a second one would wait for the first

        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            request = Request(
                self.command,
                unquote(parts.path),
                dict(parse_qsl(parts.query)),
                dict(self.headers.items()),
                json.loads(content) if content else {},
            )
            reply = stand_in.answer(request)
            if reply is None:
                self.close_connection = True
                return
            body = b"" if reply.value is None else json.dumps(reply.value).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 (http.server's names)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

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
