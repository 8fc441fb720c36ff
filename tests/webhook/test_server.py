"""The endpoints, their limits, and the end of the server."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from multiarch.errors import OutsideError
from multiarch.facts.admission import AdmissionMode
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.server import Listening, Server
from tests.webhook.serving import Reviews, pair, run, serving, trusting, write


def test_each_path_answers_on_its_ports_and_to_its_methods(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as it:
            for mode in ("", *AdmissionMode):
                path = f"/mutate/{mode}".rstrip("/")
                assert await it.review(b"abc", f"{path}?timeout=3s") == (200, f"{mode}, 3 bytes")
            for path in ("/livez", "/healthz", "/readyz", "/metrics"):
                assert (await it.ask(path))[0] == (await it.ask(it.plain(path)))[0] == 200
            assert (await it.ask(it.plain("/mutate"), "POST", data=b"{}"))[0] == 404
            for method, path, status in (
                ("GET", "/mutate", 405),
                ("POST", "/readyz", 405),
                ("POST", "/mutate/off", 404),
                ("GET", "/", 404),
                ("HEAD", "/livez", 200),
            ):
                async with it.session.request(method, it.url(path)) as response:
                    assert response.status == status
                    assert ("Allow" in response.headers) is (status == 405)
                    assert (response.content_type == "application/json") is (status > 200)

    run(work)


def test_it_is_not_ready_for_a_reason_and_lives_on(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, ready=lambda: "the certificate has expired") as it:
            assert await it.ask(it.plain("/readyz")) == (503, "the certificate has expired")
            assert await it.ask(it.plain("/livez")) == (200, "ok")

    run(work)


def test_it_does_not_live_on_with_a_port_that_accepts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with serving(tmp_path) as it:
            reviews = it.server._connections[0]  # noqa: SLF001
            monkeypatch.setattr(reviews, "_make_room", None)  # any fault of the program
            with pytest.raises(aiohttp.ClientError):  # accepted, and never answered
                await it.ask("/livez", timeout=aiohttp.ClientTimeout(sock_connect=0.2))
            assert (await it.ask(it.plain("/livez")))[0] == 503

    run(work)


def test_a_body_over_the_limit_is_rejected_and_one_at_the_limit_is_not(tmp_path: Path) -> None:
    async def chunks(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 1000):
            yield b"x" * 1000

    async def work() -> None:
        async with serving(tmp_path, body_bytes=200_000) as it:
            for size, status in ((200_000, 200), (201_000, 413), (200_000, 200)):
                for data in (chunks(size), b"x" * size):
                    assert (await it.ask("/mutate", "POST", data=data))[0] == status
            text, _ = it.metrics.text()
            assert b'multiarch_webhook_failures_total{reason="too-large"} 2.0' in text

    run(work)


ODD = {
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": b"400",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n": b"400",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n": b"413",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}": b"100",
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123": b"408",
}


def test_odd_and_incomplete_requests_are_answered(tmp_path: Path) -> None:
    made = pair()
    write(tmp_path, made)

    async def work() -> None:
        async with serving(tmp_path, made, body_seconds=0.1) as it:
            for data, status in ODD.items():
                reader, writer = await asyncio.open_connection("localhost", it.server.ports[0], ssl=trusting(made))
                writer.write(data)
                async with asyncio.timeout(5):
                    assert (await reader.readline()).split(b" ")[1] == status
                writer.transport.abort()
                assert (await it.review())[0] == 200
            assert it.server.requests == 0

    run(work)


def test_bodies_that_are_arriving_have_a_budget_together(tmp_path: Path) -> None:
    made = pair()
    write(tmp_path, made)

    async def work() -> None:
        async with serving(tmp_path, made, body_bytes=1000, bodies_bytes=2503, body_seconds=30.0) as it:
            port, context = it.server.ports[0], trusting(made)
            held = []
            for _ in range(2):
                _, writer = await asyncio.open_connection("localhost", port, ssl=context)
                writer.write(b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
                held.append(writer)
            async with asyncio.timeout(5):
                while it.server.requests < 2:  # noqa: ASYNC110 (a counter has no event)
                    await asyncio.sleep(0.01)
            assert (await it.review(b"x" * 1000))[0] == 503
            assert (await it.review(b"x" * 500))[0] == 200
            # A body counts until its review is answered.
            slow = asyncio.create_task(it.review(b"slow"))
            await it.reviews.began.wait()
            assert (await it.review(b"x" * 500))[0] == 503
            it.reviews.released.set()
            assert (await slow)[0] == 200
            for writer in held:
                writer.transport.abort()
            async with asyncio.timeout(5):
                while it.server.requests:  # noqa: ASYNC110 (likewise)
                    await asyncio.sleep(0.01)
            assert (await it.review(b"x" * 1000))[0] == 200

    run(work)


def test_connections_that_never_start_tls_count_and_make_room(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, connections=3) as it:
            silent = [await asyncio.open_connection("localhost", it.server.ports[0]) for _ in range(6)]
            async with asyncio.timeout(10):
                for reader, _ in silent[:3]:
                    assert await reader.read() == b""
            assert (await it.review())[0] == 200
            text, _ = it.metrics.text()
            assert b"multiarch_webhook_connections 3.0" in text
            for _, writer in silent:
                writer.transport.abort()

    run(work)


def test_above_the_limit_the_longest_idle_connection_makes_room(tmp_path: Path) -> None:
    """Not the oldest one, and none whose request is being answered."""
    made = pair()
    write(tmp_path, made)

    async def work() -> None:
        async with serving(tmp_path, made, connections=3) as it:
            slow = asyncio.create_task(it.review(b"slow"))
            await it.reviews.began.wait()
            first, second = [
                await asyncio.open_connection("localhost", it.server.ports[0], ssl=trusting(made)) for _ in range(2)
            ]
            first[1].write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await first[0].readline()).split(b" ")[1] == b"200"
            assert (await it.review())[0] == 200
            async with asyncio.timeout(10):
                with suppress(ConnectionError):
                    assert await second[0].read() == b""
            first[1].write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200" in await first[0].readuntil(b"HTTP/1.1 200")
            for _, writer in (first, second):
                writer.transport.abort()
            it.reviews.released.set()
            assert await slow == (200, ", 4 bytes")
            text, _ = it.metrics.text()
            assert b"multiarch_webhook_connections_refused_total 1.0" in text

    run(work)


def test_a_connection_is_rejected_where_all_others_are_busy(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, connections=1) as it:
            slow = asyncio.create_task(it.review(b"slow"))
            await it.reviews.began.wait()
            with pytest.raises((aiohttp.ClientError, ConnectionError)):
                await it.review()
            it.reviews.released.set()
            assert await slow == (200, ", 4 bytes")

    run(work)


def test_the_metrics_have_the_responses_and_requests_in_progress(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as it:
            slow = asyncio.create_task(it.review(b"slow"))
            await it.reviews.began.wait()
            _, text = await it.ask(it.plain("/metrics"))
            assert "multiarch_webhook_http_requests_in_progress 1.0" in text
            it.reviews.released.set()
            assert await slow == (200, ", 4 bytes")
            await it.review(b"wrong")
            _, text = await it.ask("/metrics")
            assert 'multiarch_webhook_http_responses_total{code="400"} 1.0' in text
            assert "multiarch_webhook_http_requests_in_progress 1.0" in text  # this one

    run(work)


def test_draining_answers_what_is_under_way_and_sends_clients_away(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as it:
            slow = asyncio.create_task(it.review(b"slow"))
            await it.reviews.began.wait()
            it.server.drain()
            assert await it.ask(it.plain("/readyz")) == (503, "the server is shutting down")
            assert (await it.ask(it.plain("/livez")))[0] == 200
            async with it.session.post(it.url("/mutate"), data=b"{}") as response:
                assert (response.status, response.headers["Connection"]) == (200, "close")
            finished = asyncio.create_task(it.server.close(5.0))
            await asyncio.sleep(0.05)
            assert not finished.done()
            with pytest.raises(aiohttp.ClientError):
                await it.review()
            it.reviews.released.set()
            assert await slow == (200, ", 4 bytes")
            assert await finished

    run(work)


def test_a_request_that_does_not_end_bounds_the_drain(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as it:
            slow = asyncio.create_task(it.review(b"slow"))
            await it.reviews.began.wait()
            began = time.monotonic()
            it.server.drain()
            assert not await it.server.close(0.1)
            with pytest.raises(aiohttp.ClientError):
                await slow
            assert time.monotonic() - began < 2.0

    run(work)


def test_a_port_in_use_and_an_unknown_address_are_named() -> None:
    async def work() -> None:
        taken = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        for listening, message in (
            (
                Listening("127.0.0.1", port, 0),
                f"Port {port} of 127.0.0.1 can't be used: Address already in use. .*--port",
            ),
            (
                Listening("127.0.0.1", 0, port),
                f"Port {port} of 127.0.0.1 can't be used: Address already in use. .*--metrics-port",
            ),
            (Listening("192.0.2.1", 0, 0), "Cannot assign requested address"),
        ):
            server = Server(listening, Reviews().review, Metrics(), str, lambda _reason, _text: None)
            with pytest.raises(OutsideError, match=message):
                await server.start(context)
        taken.close()

    run(work)
