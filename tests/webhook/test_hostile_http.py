"""Clients that are not API servers: the server neither ends nor hangs, and goes on answering the others."""

from __future__ import annotations

import asyncio
import os
import resource
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.webhook.fault_run import started
from tests.webhook.serving import Serving, pair, run, serving, trusting, write
from tests.webhook.stand_ins import pod, review_of

REVIEW = b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
PAGE = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"


@asynccontextmanager
async def both(
    folder: Path, **listening: Any
) -> AsyncIterator[tuple[Serving, list[tuple[int, ssl.SSLContext | None]]]]:
    """A server, and its ports with what a client needs there."""
    made = pair()
    write(folder, made)
    async with serving(folder, made, **listening) as it:
        yield it, [(it.server.ports[0], trusting(made)), (it.server.ports[1], None)]


async def asked(port: int, context: ssl.SSLContext | None, data: bytes) -> bytes:
    """What comes back until the server closes, or for a quarter of a second."""
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
    answer = b""
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(0.25):
            writer.write(data)
            while part := await reader.read(65536):
                answer += part
    writer.transport.abort()
    return answer


REQUESTS = {
    b"POST /mutate HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}": b"200",
    b"GET /livez HTTP/1.0\r\n\r\n": b"200",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": b"400",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": b"400",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n": b"400",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n": b"400",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n": b"413",
    b"POST /mutate HTTP/9.9\r\nHost: x\r\n\r\n": b"400",
    b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n": b"404",
    b"TRACE /mutate HTTP/1.1\r\nHost: x\r\n\r\n": b"405",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n": b"404",
    b"GET http://other/livez HTTP/1.1\r\nHost: x\r\n\r\n": b"200",
    b"GET /../livez HTTP/1.1\r\nHost: x\r\n\r\n": b"404",
    b"GET /livez%00 HTTP/1.1\r\nHost: x\r\n\r\n": b"404",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n": b"40",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}": b"100",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\n{}": b"200",
}


@pytest.mark.parametrize(("data", "status"), REQUESTS.items(), ids=[str(each[:60]) for each in REQUESTS])
def test_odd_requests_are_answered(tmp_path: Path, data: bytes, status: bytes) -> None:
    async def work() -> None:
        async with both(tmp_path) as (it, ports):
            port, context = ports[0]
            reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
            writer.write(data)
            async with asyncio.timeout(5):
                line = await reader.readline()
            assert line.split(b" ")[1].startswith(status), line
            writer.transport.abort()
            assert (await it.review())[0] == 200

    run(work)


def test_requests_one_behind_the_other_are_answered_in_order(tmp_path: Path) -> None:
    async def work() -> None:
        async with both(tmp_path) as (_, ports):
            port, context = ports[0]
            reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
            writer.write((REVIEW + PAGE) * 100)
            answer = b""
            async with asyncio.timeout(10):
                while answer.count(b"HTTP/1.1 200") < 200:
                    answer += await reader.read(65536)
            assert answer.count(b", 2 bytes") == 100
            writer.transport.abort()

    run(work)


def test_a_client_that_does_not_read_its_answers_costs_little(tmp_path: Path) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    async def work() -> None:
        async with both(tmp_path) as (it, ports):
            await it.review()
            before = resident()
            for port, context in ports:
                _, writer = await asyncio.open_connection("localhost", port, ssl=context, limit=1024)
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.3):
                        while True:
                            writer.write(PAGE * 1000)
                            await writer.drain()
                began = time.monotonic()
                assert (await it.review())[0] == 200
                assert time.monotonic() - began < 1.0
                writer.transport.abort()
            assert resident() - before < 30_000_000

    run(work)


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00" + bytes(range(256)) * 2,
        bytes(range(255, 0, -1)),
        PAGE,
        b"\x16\x03\x01\xff\xff" + b"\0" * 70_000,
    ],
    ids=["a broken hello", "bytes", "HTTP", "a large record"],
)
def test_what_is_not_tls_is_closed(tmp_path: Path, data: bytes) -> None:
    async def work() -> None:
        async with both(tmp_path) as (it, ports):
            answer = await asked(ports[0][0], None, data)
            assert b"HTTP" not in answer
            assert (await it.review())[0] == 200
            assert it.server.requests == 0

    run(work)


def test_a_client_can_t_renegotiate_and_gets_no_old_version(tmp_path: Path) -> None:
    async def work() -> None:
        async with both(tmp_path) as (it, ports):
            assert it.certificate.context.options & ssl.OP_NO_RENEGOTIATION
            _, context = ports[0]
            assert context is not None
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await asyncio.open_connection("localhost", ports[0][0], ssl=context)

    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        run(work)


@pytest.mark.registry
def test_a_server_without_free_files_goes_on_and_recovers(tmp_path: Path) -> None:
    """A flood of connections takes all its file descriptors: what is connected is answered, and then new ones too."""
    served = pair()
    certificates = tmp_path / "certificates"
    certificates.mkdir()
    write(certificates, served)
    (tmp_path / "webhook.yaml").write_text("registries: {allowed: [docker.io], ecr: false}\n")
    body = review_of(pod("quay.io/team/image:1"))

    async def review(session: aiohttp.ClientSession, port: int) -> bool:
        async with asyncio.timeout(10), session.post(f"https://localhost:{port}/mutate", data=body) as response:
            return bool((await response.json())["response"]["allowed"])

    async def work() -> None:
        async with started(tmp_path, certificates, tmp_path / "webhook.yaml") as (process, port, _):
            context = trusting(served)
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
                assert await review(session, port)
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (64, 64))
                flood = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
                await asyncio.sleep(0.5)
                assert await review(session, port)
                for _, writer in flood:
                    writer.transport.abort()
                await asyncio.sleep(1.5)
                connector = aiohttp.TCPConnector(ssl=context)
                async with aiohttp.ClientSession(connector=connector) as another:
                    assert await review(another, port)
            assert process.returncode is None

    asyncio.run(work())
