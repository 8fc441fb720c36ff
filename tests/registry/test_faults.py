"""What goes wrong on the way is named in one line, and what can be tried again is."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from typing import NamedTuple

import pytest

from multiarch.registry.client import RegistryClient
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import Descriptor, compute_digest
from multiarch.registry.reference import Reference, parse_reference
from sandbox.cluster.programs import free_ports
from tests.registry.hostile import Answer, Asked, Hostile, asking, digest, http
from tests.registry.images import QUICK, client
from tests.registry.names import FOUND, INDEX
from tests.webhook.registry_stand_in import serving

HASTY = dataclasses.replace(QUICK, total_seconds=2.0, read_seconds=0.1, retries=1)
MANIFEST = "/v2/team/image/manifests/1.0"
REPLACED = ("Docker-Content-Digest", compute_digest(b"another"))
ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"{" * 0x10000 + b"\r\n") * 65
BUSY = http(429, b'{"errors":[{"code":"TOOMANYREQUESTS"}]}', ("Retry-After", "0"))


class Fault(NamedTuple):
    """What the server sends, how it goes on, and what comes of it: the reason, its words, how often it is requested."""

    answer: bytes | Answer
    reason: RegistryReason
    words: str
    requests: int
    hold: float = 0.0


FAULTS = {
    "silent": Fault(b"", RegistryReason.TIMEOUT, "sent nothing for too long", 2, hold=30),
    "slow": Fault(FOUND[:-9], RegistryReason.TIMEOUT, "sent nothing for too long", 2, hold=30),
    "dropped": Fault(b"", RegistryReason.UNREACHABLE, "closed the connection without a response", 4),  # aiohttp too
    "truncated": Fault(FOUND[:-9], RegistryReason.TRUNCATED, "is incomplete", 2),
    "rate limited": Fault(BUSY, RegistryReason.RATE_LIMITED, "answered 429 (TOOMANYREQUESTS)", 2),
    "error": Fault(http(500, b"<html>"), RegistryReason.SERVER, "answered 500", 2),
    "wrong digest": Fault(http(200, INDEX, REPLACED), RegistryReason.WRONG_DIGEST, "sent sha256:", 1),
    "endless": Fault(ENDLESS, RegistryReason.TOO_LARGE, "sent more than 4194304 bytes", 1),
    "redirects": Fault(
        lambda asked: http(307, b"", ("Location", f"{asked.path}0")), RegistryReason.REDIRECTS, "redirects 6 times", 1
    ),
    "circle": Fault(http(302, b"", ("Location", MANIFEST)), RegistryReason.REDIRECTS, "redirects in a loop", 1),
    "garbage": Fault(b"\0\1\2\r\n\r\n", RegistryReason.MALFORMED, "sent an invalid HTTP response", 1),
    "compressed": Fault(
        http(200, INDEX, ("Content-Encoding", "gzip")), RegistryReason.UNSUPPORTED, "unrequested Content-Encoding", 1
    ),
    "login page": Fault(
        http(200, b"<html>", ("Content-Type", "text/html")), RegistryReason.MALFORMED, "sent text/html instead", 1
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_each_fault_has_its_reason_and_one_line_and_what_passes_is_tried_again(fault: Fault) -> None:
    sent = fault.answer
    server = Hostile(sent if callable(sent) else lambda _: sent, hold=fault.hold)
    with pytest.raises(RegistryError) as caught:
        asking(server, digest, settings=HASTY)
    assert caught.value.reason is fault.reason
    assert str(caught.value).startswith(f"{server.host}/team/image:1.0: {fault.reason}: ")
    assert fault.words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [asked.path for asked in server.asked].count(MANIFEST) == fault.requests


def test_the_time_that_a_registry_asks_for_is_waited() -> None:
    answers = [http(429, b"", ("Retry-After", "1")), FOUND]
    started = time.monotonic()
    assert asking(Hostile(lambda _: answers.pop(0)), digest, settings=QUICK) == compute_digest(INDEX)
    assert 1.0 <= time.monotonic() - started < 5.0


def test_nobody_waits_longer_than_the_deadline_and_nothing_is_asked_meanwhile() -> None:
    server = Hostile(lambda _: http(429, b"", ("Retry-After", "3600")))

    async def read(opened: RegistryClient, reference: Reference) -> None:
        for tag in ("1.0", "2.0"):
            started = time.monotonic()
            with pytest.raises(RegistryError, match=r"rate limited: .* says to retry in 3\d\d\d s"):
                await opened.manifest(dataclasses.replace(reference, tag=tag))
            assert time.monotonic() - started < 1.0

    asking(server, read, settings=QUICK)
    assert len(server.asked) == 1


def test_a_host_that_is_gone_is_left_alone_for_a_while() -> None:
    (port,) = free_ports(1)

    async def read() -> None:
        async with client(dataclasses.replace(QUICK, backoff_seconds=0.05)) as opened:
            for tag, longest in (("1.0", 5.0), ("2.0", 0.05)):
                started = time.monotonic()
                with pytest.raises(RegistryError, match=f"unreachable: 127.0.0.1:{port} rejected the connection"):
                    await opened.manifest(Reference(f"127.0.0.1:{port}", "team/image", tag, None))
                assert time.monotonic() - started < longest

    asyncio.run(read())


def test_a_host_that_answered_nothing_is_tried_with_tls_again() -> None:
    """Plain HTTP is for a server that answered it: one that restarts does not lose TLS for good."""
    begun: list[bytes] = []

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun.append(await reader.read(1))
        writer.close()

    async def read() -> None:
        server = await asyncio.start_server(close, "127.0.0.1", 0)
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, client(dataclasses.replace(HASTY, down_seconds=0.001)) as opened:
            for tag in ("1.0", "2.0"):
                before = len(begun)
                with pytest.raises(RegistryError, match="unreachable"):
                    await opened.manifest(Reference(host, "team/image", tag, None))
                assert begun[before] == b"\x16"
                await asyncio.sleep(0.01)

    asyncio.run(read())


def test_no_more_requests_at_once_than_allowed() -> None:
    async def read() -> None:
        async with serving(delay=0.02) as registry, client(dataclasses.replace(QUICK, concurrency=3)) as opened:
            images = [parse_reference(registry.name("image", f"t{number}")) for number in range(20)]
            await asyncio.gather(*map(opened.manifest, images), return_exceptions=True)
            assert registry.asked.total() == 20
            assert registry.most_at_once == 3

    asyncio.run(read())


@pytest.mark.parametrize(("bytes_", "requests"), [(1024, 2), (0, 4)], ids=["remembered", "no room"])
def test_a_digest_is_read_once_and_a_tag_each_time(bytes_: int, requests: int) -> None:
    server = Hostile(lambda _: FOUND)

    async def read(opened: RegistryClient, reference: Reference) -> None:
        found = {await digest(opened, reference) for _ in range(2)}
        for _ in range(2):
            await opened.manifest(reference.at(*found))

    asking(server, read, settings=dataclasses.replace(QUICK, memory_bytes=bytes_))
    assert len(server.asked) == requests


@pytest.mark.parametrize(("kind", "fault"), [("v1+prettyjws", False), ("v1+json", True)])
def test_the_digest_of_a_signed_manifest_alone_is_not_compared(kind: str, *, fault: bool) -> None:
    """That of Docker's signed schema 1 is of a part of it."""
    own = ("Content-Type", f"application/vnd.docker.distribution.manifest.{kind}")
    server = Hostile(lambda _: http(200, b'{"schemaVersion": 1}', own, REPLACED))
    if fault:
        with pytest.raises(RegistryError, match="wrong digest"):
            asking(server, digest, settings=QUICK)
    else:
        assert asking(server, digest, settings=QUICK) == compute_digest(b'{"schemaVersion": 1}')


BLOB = Descriptor("application/json", compute_digest(b"content"), 7)
SPOILED = {
    RegistryReason.TRUNCATED: http(200, b"content")[:-2],
    RegistryReason.WRONG_DIGEST: http(200, b"CONTENT"),
    RegistryReason.TOO_LARGE: http(200, b"content and more"),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("reason", SPOILED)
def test_a_spoiled_blob_is_found_out(reason: RegistryReason, *, streamed: bool) -> None:
    async def read(opened: RegistryClient, reference: Reference) -> bytes:
        if streamed:
            return b"".join([piece async for piece in opened.stream(reference, BLOB)])
        return await opened.blob(reference, BLOB, limit=1000)

    with pytest.raises(RegistryError) as caught:
        asking(Hostile(lambda _: SPOILED[reason]), read, settings=HASTY)
    assert caught.value.reason is reason
    assert BLOB.digest in str(caught.value)


def test_a_descriptor_that_is_none_is_malformed() -> None:
    def unasked(asked: Asked) -> bytes:
        raise AssertionError(asked)

    async def read(opened: RegistryClient, reference: Reference) -> None:
        for name in ("sha256:12", "../../secret", "md5:d41d8cd98f00b204e9800998ecf8427e"):
            with pytest.raises(RegistryError, match="malformed response"):
                await opened.blob(reference, Descriptor("any", name, 1), limit=10)

    asking(Hostile(unasked), read)


def test_the_deadline_holds_for_all_attempts_together() -> None:
    started = time.monotonic()
    settings = dataclasses.replace(QUICK, total_seconds=0.3, retries=10)
    with pytest.raises(RegistryError, match=r"timed out: .* did not finish within 0 s"):
        asking(Hostile(lambda _: FOUND, pause=30), digest, settings=settings)
    assert time.monotonic() - started < 3.0
