"""``python -m sandbox.registry --port 0``: a read-only registry on loopback until SIGTERM or Ctrl-C.

Upstream: https://github.com/opencontainers/distribution-spec/blob/main/spec.md, the part about pulling.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from sandbox.registry.images import HOST, Content, Repository, repositories

_PATH: Final = re.compile(r"/v2/(?P<name>[a-z0-9/._-]+)/(?P<kind>manifests|blobs|tags)/(?P<reference>[\w:.-]+)")
_REPOSITORIES: Final = repositories()


class Handler(BaseHTTPRequestHandler):
    """Answers what clients ask to pull."""

    protocol_version = "HTTP/1.1"

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
        repository = _REPOSITORIES.get(found["name"], Repository())
        if found["kind"] == "tags":
            body = {"name": found["name"], "tags": sorted(repository.tags)}
            return Content("application/json", json.dumps(body).encode()) if repository.tags else None
        tagged = repository.tags.get(found["reference"]) if found["kind"] == "manifests" else None
        return tagged or repository.contents.get(found["reference"])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        """Log nothing."""


def main() -> int:
    """Serve; writes DIR/HOST/hosts.toml, and prints ``listening http://127.0.0.1:PORT`` when ready."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.registry", description="made-up images on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--state-dir", type=Path, required=True, help="where hosts.toml goes, in a folder per registry")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    mirror = options.state_dir / HOST / "hosts.toml"
    mirror.parent.mkdir(parents=True, exist_ok=True)
    mirror.write_text(f'server = "{url}"\n', encoding="utf-8")
    sys.stdout.write(f"listening {url}\n")
    sys.stdout.flush()
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
