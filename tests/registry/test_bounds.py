"""What one hostile image may cost a client with bounds: bytes, requests, time of the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import socket
import threading
import time
from typing import Self

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.images.verdict import verdicts
from multiarch.registry.bounds import ContentBounds, values_in
from multiarch.registry.client import RegistryClient
from multiarch.registry.digests import digest_of
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST, Descriptor
from multiarch.registry.reference import Reference
from multiarch.registry.settings import MIB, RegistrySettings
from tests.registry.faults import Asked
from tests.registry.hostile import Hostile, http
from tests.registry.images import QUICK, client

BOUNDED = dataclasses.replace(QUICK, retries=0, bounds=ContentBounds(), manifest_limit=MIB)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def failing(opened: RegistryClient, reference: Reference) -> RegistryReason:
    with pytest.raises(RegistryError) as caught:
        await opened.manifest(reference)
    return caught.value.reason


def image(server: Hostile, repository: str = "team/image") -> Reference:
    return Reference(server.host, repository, "1.0", None)


def bounded(server: Hostile, settings: RegistrySettings = BOUNDED) -> RegistrySettings:
    return dataclasses.replace(settings, plain_http=frozenset({server.host}))


class Flood:
    """A server in threads: it sends one piece again and again after what comes first, and counts what it could."""

    def __init__(self, first: bytes, piece: bytes) -> None:
        self.first, self.piece = first, piece
        self.sent = 0
        self._server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        self.host = f"127.0.0.1:{self._server.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._server.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            if connection.recv(4096).startswith(b"\x16"):
                return  # it speaks no TLS
            connection.sendall(self.first)
            while True:
                connection.sendall(self.piece)
                self.sent += len(self.piece)


FLOODS = {
    "interim responses": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "a chunk's extension": (CHUNKED + b"1;", b"y" * 4096),
    "chunks of a byte": (CHUNKED, b"1\r\nx\r\n" * 500),
    "a body without end": (CHUNKED, b"1000\r\n" + b"{" * 4096 + b"\r\n"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: y\r\n" * 500),
    "a header": (b"HTTP/1.1 200 OK\r\nX: ", b"y" * 4096),
    "trailers": (CHUNKED + b"0\r\n", b"X-A: y\r\n" * 500),
}


@pytest.mark.parametrize(("first", "piece"), FLOODS.values(), ids=list(FLOODS))
def test_a_flood_is_cut_off(first: bytes, piece: bytes) -> None:
    async def scenario(flood: Flood) -> RegistryReason:
        async with client(dataclasses.replace(BOUNDED, plain_http=frozenset({flood.host}))) as opened:
            return await failing(opened, Reference(flood.host, "team/image", "1.0", None))

    with Flood(first, piece) as flood:
        started = time.monotonic()
        reason = asyncio.run(scenario(flood))
        took, sent = time.monotonic() - started, flood.sent
    assert reason in {RegistryReason.TOO_LARGE, RegistryReason.MALFORMED}
    # Up to the limit twice, to find out the scheme and for the manifest, and what the sockets hold.
    assert sent < 4 * MIB
    assert took < 5.0


def test_floods_leave_the_loop_its_time() -> None:
    """Forty connections with chunks of one byte: other work of the loop gets most of its time."""

    async def scenario(flood: Flood) -> int:
        settings = dataclasses.replace(BOUNDED, plain_http=frozenset({flood.host}), concurrency=64)
        async with client(settings) as opened:
            references = [Reference(flood.host, f"team/image{number}", "1.0", None) for number in range(40)]
            tasks = [asyncio.create_task(failing(opened, each)) for each in references]
            turns, started = 0, time.monotonic()
            while time.monotonic() - started < 1.0:
                await asyncio.sleep(0.001)
                turns += 1
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return turns

    first, piece = FLOODS["chunks of a byte"]
    with Flood(first, piece * 200) as flood:
        assert asyncio.run(scenario(flood)) > 20


@pytest.mark.parametrize(
    "body",
    [
        b'{"manifests":[' + b"{}," * 20_000 + b"{}]}",
        b"{" + b",".join(b'"%x":0' % number for number in range(26_000)) + b"}",
        b'{"x":"' + b"\\ud800" * 110_000 + b'"}',
    ],
    ids=["objects", "keys", "escapes"],
)
def test_a_document_with_too_many_values_is_not_decoded(body: bytes) -> None:
    assert len(body) < MIB

    async def scenario() -> tuple[RegistryReason, str]:
        server = Hostile(lambda _: http(200, body, ("Content-Type", OCI_INDEX)))
        async with server.running(), client(bounded(server)) as opened:
            with pytest.raises(RegistryError) as caught:
                await opened.manifest(image(server))
            descriptor = Descriptor("application/json", digest_of(body), len(body))
            with pytest.raises(RegistryError, match="more than 25000 values"):
                await opened.blob(image(server), descriptor, limit=4 * MIB)
            return caught.value.reason, caught.value.detail

    assert asyncio.run(scenario()) == (RegistryReason.TOO_LARGE, "a JSON document has more than 25000 values")


def test_values_are_those_of_a_large_image() -> None:
    layers = [{"mediaType": "x", "digest": f"sha256:{number:064x}", "size": number} for number in range(127)]
    history = [{"created_by": 'RUN echo "a" \u0026\u0026 b' * 20, "created": "now"} for _ in range(300)]
    labels = {"io.buildpacks.build.metadata": json.dumps([{"name": "a", "version": "1.2.3"}] * 2000)}
    assert values_in(json.dumps({"layers": layers}).encode()) < 600
    config = json.dumps({"history": history, "config": {"Labels": labels}}).encode()
    assert len(config) > 100_000
    assert values_in(config) < 15_000


def test_large_documents_are_handed_out_one_after_the_other() -> None:
    body = b'{"manifests":[' + b"{}," * 5_000 + b"{}]}"

    async def scenario() -> float:
        server = Hostile(lambda _: http(200, body, ("Content-Type", OCI_INDEX)))
        async with server.running(), client(bounded(server)) as opened:
            started = time.monotonic()
            await asyncio.gather(*(opened.manifest(image(server, f"team/image{number}")) for number in range(10)))
            return time.monotonic() - started

    assert asyncio.run(scenario()) > 10 * 10_000 * 4e-6


def test_one_image_takes_a_bounded_number_of_requests() -> None:
    """An index of entries without platforms, each behind redirects."""
    manifest = json.dumps({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "manifests": []}).encode()
    rows = [{"mediaType": OCI_INDEX, "digest": f"sha256:{number:064x}", "size": len(manifest)} for number in range(64)]
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": rows}).encode()

    def answer(asked: Asked) -> bytes:
        if asked.path.endswith("/1.0"):
            return http(200, index, ("Content-Type", OCI_INDEX))
        hop = asked.path.count("x")
        return http(307, b"", ("Location", f"{asked.path}x")) if hop < 5 else http(404)

    async def scenario() -> tuple[str, int]:
        server = Hostile(answer)
        async with server.running(), client(bounded(server)) as opened:
            (found,) = await verdicts(opened, image(server), (Architecture.ARM64,))
            return found.reason, len(server.asked)

    reason, asked = asyncio.run(scenario())
    assert asked <= ContentBounds().requests
    assert "can't be read" in reason


def test_a_config_has_a_limit() -> None:
    async def scenario() -> RegistryReason:
        server = Hostile(lambda _: http(200, b"x"))
        async with server.running(), client(bounded(server)) as opened:
            descriptor = Descriptor("application/json", digest_of(b"x"), 2 * MIB)
            with pytest.raises(RegistryError) as caught:
                await opened.blob(image(server), descriptor, limit=4 * MIB)
            assert server.asked == []
            return caught.value.reason

    assert asyncio.run(scenario()) is RegistryReason.TOO_LARGE
