"""What goes wrong on the way is named in one line, and what can be tried again is.

The proxy of faults.py stands in for networks and servers that fail; behind it is the real registry.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Iterator

import pytest

from multiarch.registry.client import RegistryClient
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import Descriptor
from multiarch.registry.reference import Reference
from multiarch.registry.settings import RegistrySettings
from sandbox.cluster.programs import free_ports
from tests.registry import server
from tests.registry.faults import Fault, Proxy
from tests.registry.images import CONFIG, CONFIG_TYPE, QUICK, asking, client, push
from tests.registry.server import Server, digest_of

pytestmark = pytest.mark.registry

HASTY = dataclasses.replace(QUICK, total_seconds=2.0, read_seconds=0.5, retries=1)
NAMED = {
    Fault.SILENT: (RegistryReason.TIMEOUT, "sent nothing for too long"),
    Fault.SLOW: (RegistryReason.TIMEOUT, "sent nothing for too long"),
    Fault.DROPPED: (RegistryReason.UNREACHABLE, "closed the connection without a response"),
    Fault.RESET: (RegistryReason.TRUNCATED, "the response"),
    Fault.TRUNCATED: (RegistryReason.TRUNCATED, "is incomplete"),
    Fault.RATE_LIMITED: (RegistryReason.RATE_LIMITED, "answered 429"),
    Fault.ERROR: (RegistryReason.SERVER, "answered 500"),
    Fault.WRONG_DIGEST: (RegistryReason.WRONG_DIGEST, "sent sha256:"),
    Fault.OVERSIZED: (RegistryReason.TOO_LARGE, "sent more than 4194304 bytes"),
    Fault.ENDLESS: (RegistryReason.TOO_LARGE, "sent more than 4194304 bytes"),
    Fault.REDIRECTS: (RegistryReason.REDIRECTS, "redirects 6 times"),
    Fault.CIRCLE: (RegistryReason.REDIRECTS, "redirects in a loop"),
    Fault.GARBAGE: (RegistryReason.MALFORMED, "sent an invalid HTTP response"),
    Fault.COMPRESSED: (RegistryReason.UNSUPPORTED, "sent an unrequested Content-Encoding: gzip"),
    Fault.LOGIN_PAGE: (RegistryReason.MALFORMED, "sent text/html instead of a manifest"),
}
PASSING = [Fault.DROPPED, Fault.RESET, Fault.TRUNCATED, Fault.RATE_LIMITED, Fault.ERROR, Fault.SILENT]


@pytest.fixture(scope="module")
def registry() -> Iterator[Server]:
    with server.running() as running:
        push(running)
        yield running


@pytest.fixture
def proxy(registry: Server) -> Iterator[Proxy]:
    with Proxy(registry).running() as running:
        yield running


def image(proxy: Proxy) -> Reference:
    return Reference(proxy.host, "team/image", "1.0", None)


def rejected(reference: Reference, settings: RegistrySettings = HASTY) -> RegistryError:
    with pytest.raises(RegistryError) as caught:
        asking(lambda opened: opened.manifest(reference), settings)
    return caught.value


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_each_fault_has_its_reason_and_one_line(proxy: Proxy, fault: Fault) -> None:
    proxy.fault = fault
    reason, words = NAMED[fault]
    error = rejected(image(proxy))
    assert error.reason is reason
    assert str(error).startswith(f"{proxy.host}/team/image:1.0: {reason}: ")
    assert words in str(error)
    assert "\n" not in str(error)


def test_nobody_listens() -> None:
    (port,) = free_ports(1)
    error = rejected(Reference(f"127.0.0.1:{port}", "team/image", "1.0", None))
    assert error.reason is RegistryReason.UNREACHABLE
    assert f"127.0.0.1:{port} rejected the connection" in str(error)


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: fault.name.lower())
def test_what_passes_is_tried_again(proxy: Proxy, fault: Fault) -> None:
    proxy.fault, proxy.times, proxy.retry_after = fault, 2, "0"

    settings = dataclasses.replace(QUICK, read_seconds=0.5)
    assert asking(lambda opened: opened.manifest(image(proxy)), settings).content.startswith(b"{")
    assert len([asked for asked in proxy.asked if "/manifests/" in asked.path]) == 3


@pytest.mark.parametrize("fault", [Fault.WRONG_DIGEST, Fault.CIRCLE, Fault.OVERSIZED], ids=lambda fault: fault.name)
def test_what_stays_wrong_is_not_tried_again(proxy: Proxy, fault: Fault) -> None:
    proxy.fault = fault
    rejected(image(proxy))
    assert len([asked for asked in proxy.asked if "/manifests/" in asked.path]) == 1


def test_the_time_that_a_registry_asks_for_is_waited(proxy: Proxy) -> None:
    proxy.fault, proxy.times, proxy.retry_after = Fault.RATE_LIMITED, 1, "1"

    started = time.monotonic()
    asking(lambda opened: opened.manifest(image(proxy)))
    assert 1.0 <= time.monotonic() - started < 5.0


def test_nobody_waits_longer_than_the_deadline_and_nothing_is_asked_meanwhile(proxy: Proxy) -> None:
    proxy.fault, proxy.retry_after = Fault.RATE_LIMITED, "3600"

    async def read() -> None:
        async with client() as opened:
            for tag in ("1.0", "2.0"):
                started = time.monotonic()
                with pytest.raises(RegistryError, match=r"rate limited: .* says to retry in 3\d\d\d s"):
                    await opened.manifest(Reference(proxy.host, "team/image", tag, None))
                assert time.monotonic() - started < 1.0

    asyncio.run(read())
    assert len([asked for asked in proxy.asked if "/manifests/" in asked.path]) == 1


def test_a_host_that_is_gone_is_left_alone_for_a_while() -> None:
    (port,) = free_ports(1)

    async def read() -> None:
        async with client(dataclasses.replace(QUICK, backoff_seconds=0.3)) as opened:
            for tag, longest in (("1.0", 5.0), ("2.0", 0.05)):
                started = time.monotonic()
                with pytest.raises(RegistryError, match="rejected the connection"):
                    await opened.manifest(Reference(f"127.0.0.1:{port}", "team/image", tag, None))
                assert time.monotonic() - started < longest

    asyncio.run(read())


def test_no_more_requests_at_once_than_allowed(proxy: Proxy) -> None:
    proxy.delay = 0.1

    async def read() -> None:
        async with client(dataclasses.replace(QUICK, concurrency=3)) as opened:
            await asyncio.gather(
                *(opened.manifest(Reference(proxy.host, "team/image", f"t{n}", None)) for n in range(20)),
                return_exceptions=True,
            )

    asyncio.run(read())
    assert len(proxy.asked) >= 20
    assert 2 <= proxy.most_at_once <= 3


@pytest.mark.parametrize(("bytes_", "requests"), [(1024, 2), (0, 4)], ids=["remembered", "no room"])
def test_a_digest_is_read_once_and_a_tag_each_time(proxy: Proxy, bytes_: int, requests: int) -> None:
    async def read() -> None:
        async with client(dataclasses.replace(QUICK, memory_bytes=bytes_)) as opened:
            found = {(await opened.manifest(image(proxy))).digest for _ in range(2)}
            for _ in range(2):
                await opened.manifest(image(proxy).at(*found))

    asyncio.run(read())
    assert len([asked for asked in proxy.asked if "/manifests/" in asked.path]) == requests


BLOB = Descriptor(CONFIG_TYPE, digest_of(CONFIG), len(CONFIG))
SPOILED = {
    Fault.RESET: RegistryReason.TRUNCATED,
    Fault.TRUNCATED: RegistryReason.TRUNCATED,
    Fault.WRONG_DIGEST: RegistryReason.WRONG_DIGEST,
    Fault.OVERSIZED: RegistryReason.TOO_LARGE,
    Fault.ENDLESS: RegistryReason.TOO_LARGE,
    Fault.SLOW: RegistryReason.TIMEOUT,
    Fault.LOGIN_PAGE: RegistryReason.WRONG_DIGEST,
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("fault", list(SPOILED), ids=lambda fault: fault.name.lower())
def test_a_spoiled_blob_is_found_out(proxy: Proxy, fault: Fault, *, streamed: bool) -> None:
    proxy.fault = fault

    async def read(opened: RegistryClient) -> bytes:
        if streamed:
            return b"".join([piece async for piece in opened.stream(image(proxy), BLOB)])
        return await opened.blob(image(proxy), BLOB, limit=1000)

    with pytest.raises(RegistryError) as caught:
        asking(read, HASTY)
    assert caught.value.reason is SPOILED[fault]
    assert BLOB.digest in str(caught.value)


def test_a_descriptor_that_is_none_is_malformed(proxy: Proxy) -> None:
    for digest in ("sha256:12", "../../secret", "md5:d41d8cd98f00b204e9800998ecf8427e"):
        descriptor = Descriptor("any", digest, 1)
        with pytest.raises(RegistryError, match="malformed response"):
            asking(lambda opened: opened.blob(image(proxy), descriptor, limit=10))  # noqa: B023 (called at once)
    assert proxy.asked == []


def test_the_deadline_holds_for_all_attempts_together(proxy: Proxy) -> None:
    proxy.fault = Fault.SILENT
    started = time.monotonic()
    error = rejected(image(proxy), dataclasses.replace(QUICK, total_seconds=1.0, retries=10))
    assert error.reason is RegistryReason.TIMEOUT
    assert "did not finish within 1 s" in str(error)
    assert time.monotonic() - started < 3.0
