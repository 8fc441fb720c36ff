"""A stand-in for an image registry, in the test's own event loop: it is slow, rejects and fails as a test requests.

It serves indexes and single manifests of made-up images, counts requests, and may demand tokens. The real
registry is in ``tests/registry``.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST

CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
BOTH = ("amd64", "arm64")


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(slots=True)
class RegistryStandIn:
    """``host`` is 127.0.0.1:PORT. ``delay`` are the seconds before each answer."""

    host: str = ""
    delay: float = 0.0
    demands_tokens: bool = False
    realm_host: str = ""
    """HOST:PORT of the token server; empty: this one."""
    answers_head: bool = True
    status: int = 0
    """The answer to each request for a manifest; 0: as it should be."""
    headers: dict[str, str] = field(default_factory=dict)
    account: tuple[str, str] | None = None
    """Who may read; None: everyone."""
    held: asyncio.Event | None = None
    """Answers wait for it."""
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by method and path, without ``/v2/``; ``TOKEN`` for tokens."""
    at_once: int = 0
    most_at_once: int = 0
    _manifests: dict[tuple[str, str], tuple[str, bytes]] = field(default_factory=dict)
    _blobs: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def name(self, repository: str, tag: str = "1") -> str:
        return f"{self.host}/{repository}:{tag}"

    def index(self, repository: str, tag: str = "1", architectures: Iterable[str] = BOTH, note: str = "") -> str:
        """An index of manifests that say their platform. Return its digest."""
        rows = [
            {
                "mediaType": OCI_MANIFEST,
                "digest": digest_of(f"{repository}{note}{each}".encode()),
                "size": 400,
                "platform": {"os": "linux", "architecture": each},
            }
            for each in architectures
        ]
        return self._put(repository, tag, OCI_INDEX, {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": rows})

    def single(self, repository: str, tag: str = "1", architecture: str = "amd64") -> str:
        """A manifest without an index: its architecture is in its config."""
        config = json.dumps({"os": "linux", "architecture": architecture, "of": f"{repository}:{tag}"}).encode()
        self._blobs[repository, digest_of(config)] = config
        content = {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": {"mediaType": CONFIG_TYPE, "digest": digest_of(config), "size": len(config)},
            "layers": [],
        }
        return self._put(repository, tag, OCI_MANIFEST, content)

    def unreadable_entry(self, repository: str, tag: str = "1") -> str:
        """An index with an entry that does not say its platform, and whose manifest is missing."""
        row = {"mediaType": OCI_MANIFEST, "digest": digest_of(b"missing"), "size": 400}
        return self._put(repository, tag, OCI_INDEX, {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [row]})

    def delete(self, repository: str, tag: str = "1") -> None:
        del self._manifests[repository, tag]

    def count(self, method: str, part: str = "/manifests/") -> int:
        return sum(times for name, times in self.asked.items() if name.startswith(method) and part in name)

    def _put(self, repository: str, tag: str, media_type: str, content: Mapping[str, Any]) -> str:
        body = json.dumps(content).encode()
        digest = digest_of(body)
        for name in (tag, digest):
            self._manifests[repository, name] = media_type, body
        return digest

    # Requests

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.delay)
            return await self._answer(request)
        finally:
            self.at_once -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/v2/")
        if request.path == "/token":
            self.asked["TOKEN"] += 1
            if self.account is not None and request.headers.get("Authorization") != self._basic():
                return web.Response(status=401)
            return web.json_response({"token": f"for-{request.query['scope']}", "expires_in": 300})
        if path in ("", "/v2"):
            return web.Response()
        self.asked[f"{request.method} {path}"] += 1
        if self.held is not None:
            await self.held.wait()
        repository, _, rest = path.partition("/manifests/")
        if not rest:
            repository, _, rest = path.partition("/blobs/")
        scope = f"repository:{repository}:pull"
        if self.demands_tokens and request.headers.get("Authorization") != f"Bearer for-{scope}":
            challenge = f'Bearer realm="http://{self.realm_host or self.host}/token",service="stand-in",scope="{scope}"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        if "/blobs/" in path:
            blob = self._blobs.get((repository, rest))
            return web.Response(status=404) if blob is None else web.Response(body=blob)
        return self._manifest(request, repository, rest)

    def _manifest(self, request: web.Request, repository: str, name: str) -> web.Response:
        if self.status:
            return web.Response(status=self.status, headers=self.headers)
        if request.method == "HEAD" and not self.answers_head:
            return web.Response(status=405)
        found = self._manifests.get((repository, name))
        if found is None:
            return web.Response(status=404)
        media_type, body = found
        headers = {"Docker-Content-Digest": digest_of(body), "Content-Type": media_type}
        return web.Response(body=body, headers=headers)

    def _basic(self) -> str:
        return "Basic " + base64.b64encode(":".join(self.account or ()).encode()).decode()


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[RegistryStandIn]:
    """A stand-in on a free port of the loopback address."""
    registry = RegistryStandIn(**options)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", registry.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        registry.host = f"127.0.0.1:{port}"
        yield registry
    finally:
        if registry.held is not None:
            registry.held.set()
        await runner.cleanup()
