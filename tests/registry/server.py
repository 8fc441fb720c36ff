"""A real registry (distribution v3, as ``tools/registry`` pins it) on a free port of the loopback address.

Two lines are enough::

    with server.running() as registry:
        registry.push_manifest("team/image", "1.0", {...}, media_type)

It rejects Docker's schema 1, and what is missing in an index unless it was started with ``lenient=True``.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from multiarch.registry.model import Descriptor
from multiarch.registry.reference import Reference
from sandbox import certificates
from sandbox.cluster.programs import ClusterError, Program, Programs, free_ports, wait_for
from tests.registry.tokens import ISSUER, SERVICE, Account, TokenServer
from tools import build

START_SECONDS = 30.0
ACCOUNT = Account()
# What `htpasswd -B` makes of ACCOUNT, at the lowest cost.
HTPASSWD = f"{ACCOUNT.user}:$2b$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW\n"


class Auth(StrEnum):
    """How the registry wants clients to authenticate."""

    NONE = "none"
    BASIC = "htpasswd"
    TOKEN = "token"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Server:
    """A running registry. ``host`` is ``127.0.0.1:PORT``; ``ca`` the file of its authority, with TLS."""

    host: str
    program: Program
    auth: Auth = Auth.NONE
    ca: Path | None = None
    tokens: TokenServer | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http{'s' if self.ca else ''}://{self.host}"

    def reference(self, repository: str, tag: str | None = "latest", digest: str | None = None) -> Reference:
        """Name something in it."""
        return Reference(self.host, repository, tag, digest)

    def push_blob(
        self,
        repository: str,
        content: bytes,
        media_type: str = "application/octet-stream",
        *,
        algorithm: str = "sha256",
    ) -> Descriptor:
        """Push a blob, and return its descriptor."""
        digest = digest_of(content, algorithm)
        _, headers, _ = self.request("POST", f"/v2/{repository}/blobs/uploads/", repository=repository, expect=202)
        place = urlsplit(headers["Location"])
        query = f"{place.query}&" if place.query else ""
        path = f"{place.path}?{query}{urlencode({'digest': digest})}"
        self.request("PUT", path, content, {"Content-Type": "application/octet-stream"}, repository, expect=201)
        return Descriptor(media_type, digest, len(content))

    def push_manifest(
        self, repository: str, tag: str | None, content: Mapping[str, object] | bytes, media_type: str
    ) -> Descriptor:
        """Push a manifest under a tag, or (None) under its digest alone, and return its descriptor."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        digest = digest_of(body)
        path = f"/v2/{repository}/manifests/{tag or digest}"
        self.request("PUT", path, body, {"Content-Type": media_type}, repository, expect=201)
        return Descriptor(media_type, digest, len(body))

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        repository: str = "",
        *,
        expect: int,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Ask it something as the account that may do everything; ClusterError for another status than expected."""
        host, _, port = self.host.partition(":")
        connection = (
            http.client.HTTPSConnection(
                host, int(port), timeout=30, context=ssl.create_default_context(cafile=str(self.ca))
            )
            if self.ca
            else http.client.HTTPConnection(host, int(port), timeout=30)
        )
        try:
            connection.request(method, path, body, {**(headers or {}), **self._authorization(repository)})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status != expect:
            raise ClusterError(f"{method} {path}: {answer.status} {content.decode(errors='replace')}")
        return answer.status, answer.headers, content

    def _authorization(self, repository: str) -> dict[str, str]:
        if self.auth is Auth.BASIC:
            pair = base64.b64encode(f"{ACCOUNT.user}:{ACCOUNT.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        if self.tokens is not None:
            token = self.tokens.issue([f"repository:{repository}:pull,push,delete"], user=ACCOUNT.user)
            return {"Authorization": f"Bearer {token}"}
        return {}


def digest_of(content: bytes, algorithm: str = "sha256") -> str:
    """The digest of ``content``."""
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


@contextmanager
def running(
    *,
    auth: Auth = Auth.NONE,
    tls: bool = False,
    lenient: bool = False,
    ca: certificates.Pair | None = None,
    programs: Programs | None = None,
    storage: Path | None = None,
) -> Iterator[Server]:
    """Start a registry, and stop it at the end; what it holds is in memory, or in the folder ``storage``.

    Memory is for small blobs: it grows them piece by piece. ``lenient`` lets it take an index whose members are not
    there. ``tls`` makes an authority unless ``ca`` is given.

    Raises:
        ClusterError: it ended, or did not answer in time.
        BuildError: it could not be built.
    """
    with ExitStack() as stack:
        programs = programs or stack.enter_context(Programs.running())
        tool = build.ensure("registry")
        (port,) = free_ports(1)
        folder = programs.folder / f"registry-{port}"
        folder.mkdir()
        authority = ca or certificates.authority()
        ca_file, _ = authority.write(folder, "ca")
        config = _config(port, lenient=lenient)
        if storage is not None:
            del config["storage"]["inmemory"]
            config["storage"]["filesystem"] = {"rootdirectory": str(storage)}
        pair = certificates.issue(authority).write(folder, "server") if tls else None
        if pair is not None:
            config["http"]["tls"] = {"certificate": str(pair[0]), "key": str(pair[1])}
        tokens = None
        if auth is Auth.BASIC:
            (folder / "htpasswd").write_text(HTPASSWD)
            config["auth"] = {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}}
        if auth is Auth.TOKEN:
            signer = certificates.issue(authority, ["token-signer"])
            tokens = stack.enter_context(TokenServer(signer, ACCOUNT).running(pair))
            said = {"realm": tokens.url, "service": SERVICE, "issuer": ISSUER}
            config["auth"] = {"token": said | {"rootcertbundle": str(ca_file)}}
        (folder / "config.yml").write_text(json.dumps({"version": 0.1, **config}))  # JSON is YAML
        command: list[str | Path] = [tool, "serve", folder / "config.yml"]
        program = programs.start(f"registry-{port}", command, {"OTEL_TRACES_EXPORTER": "none"})
        stack.callback(programs.stop, program, grace=1.0)
        server = Server(f"127.0.0.1:{port}", program, auth, ca_file if tls else None, tokens)
        wait_for(lambda: _ready(server), "the registry", timeout=START_SECONDS, pause=0.03)
        yield server


def _config(port: int, *, lenient: bool) -> dict[str, dict[str, Any]]:
    purging = {"uploadpurging": {"enabled": False}}
    return {
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {"inmemory": {}, "delete": {"enabled": True}, "maintenance": purging},
        "http": {"addr": f"127.0.0.1:{port}", "secret": "tests"},
        "validation": {"manifests": {"indexes": {"platforms": "none" if lenient else "all"}}},
    }


def _ready(server: Server) -> bool:
    server.program.still_running()
    try:
        server.request("GET", "/v2/", repository="any", expect=200)
    except OSError:
        return False
    return True
