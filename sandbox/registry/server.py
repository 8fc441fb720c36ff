"""A read-only registry on loopback, of images in memory.

Upstream: https://github.com/opencontainers/distribution-spec/blob/main/spec.md, the part about pulling.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar, Final

from sandbox.registry.images import HOST, Content, Repository

_PATH: Final = re.compile(r"/v2/(?P<name>[a-z0-9/._-]+)/(?P<kind>manifests|blobs|tags)/(?P<reference>[\w:.-]+)")


def make(repositories: Mapping[str, Repository]) -> ThreadingHTTPServer:
    """Return a server of these repositories that listens on a free port, and answers nothing yet."""

    class Handler(_Handler):
        served = repositories

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@contextlib.contextmanager
def running(repositories: Mapping[str, Repository]) -> Iterator[str]:
    """Serve repositories from a thread of this process; gives the URL."""
    server = make(repositories)
    thread = Thread(target=server.serve_forever, name="registry", daemon=True)
    thread.start()
    try:
        yield url_of(server)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def url_of(server: ThreadingHTTPServer) -> str:
    """Return where a server listens."""
    return f"http://127.0.0.1:{server.server_port}"


def write_hosts(folder: Path, url: str, host: str = HOST) -> None:
    """Write the ``hosts.toml`` that leads clients and containerd to a URL for a registry, by default the images'."""
    mirror = folder / host / "hosts.toml"
    mirror.parent.mkdir(parents=True, exist_ok=True)
    mirror.write_text(f'server = "{url}"\n', encoding="utf-8")


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of a pull."""

    protocol_version = "HTTP/1.1"
    served: ClassVar[Mapping[str, Repository]] = {}

    def do_GET(self) -> None:
        """Answer with the content."""
        content = self._asked()
        missing = json.dumps({"errors": [{"code": "MANIFEST_UNKNOWN", "message": "not in this registry"}]})
        answer = content or Content("application/json", missing.encode())
        self.send_response(HTTPStatus.OK if content else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if content:
            self.send_header("Docker-Content-Digest", content.digest)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_HEAD = do_GET  # noqa: N815 (the base class names it so)

    def _asked(self) -> Content | None:
        path = self.path.partition("?")[0]
        if path == "/v2/":
            return Content("application/json", b"{}")
        found = _PATH.fullmatch(path)
        if found is None:
            return None
        repository = self.served.get(found["name"], Repository())
        if found["kind"] == "tags":
            body = {"name": found["name"], "tags": sorted(repository.tags)}
            return Content("application/json", json.dumps(body).encode()) if repository.tags else None
        tagged = repository.tags.get(found["reference"]) if found["kind"] == "manifests" else None
        return tagged or repository.contents.get(found["reference"])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        """Log nothing."""
