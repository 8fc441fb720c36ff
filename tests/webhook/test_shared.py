"""The cache that replicas share, on a real Redis: one of them asks the registry; without it each does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from multiarch.images.model import Verdict
from multiarch.webhook.images import redis_connection, shared
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.images.shared import PREFIX, Shared
from multiarch.webhook.model import PodImage
from tests.webhook import redis_server
from tests.webhook.look_ups import (
    SUPPORTED,
    UNSUPPORTED,
    Clock,
    ask,
    configuration,
    looking_up,
    reason,
    settled,
    verdicts,
)
from tests.webhook.redis_server import PASSWORD, RedisServer
from tests.webhook.registry_stand_in import serving
from tests.webhook.test_disk import aged

pytestmark = pytest.mark.registry


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server.running(tmp_path) as server:
        yield server


@asynccontextmanager
async def replica(redis: RedisServer, clock: Clock | None = None) -> AsyncIterator[LookUps]:
    found = configuration()
    cache = Shared(redis.url_file, found)
    async with looking_up(clock, shared=cache, found=found) as look_ups:
        await usable(look_ups)
        yield look_ups


async def usable(look_ups: LookUps) -> None:
    """Wait until the look-ups are connected."""
    cache = look_ups._shared  # noqa: SLF001
    assert cache is not None
    for _ in range(200):
        if cache.usable:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the shared cache can't be used")


def test_a_thousand_pods_of_one_image_at_two_replicas_make_one_request(redis: RedisServer) -> None:
    async def work() -> None:
        async with serving(delay=0.1) as registry, replica(redis) as first, replica(redis) as second:
            registry.single("app", architecture="arm64")
            pods = (ask((first, second)[number % 2], registry.name("app")) for number in range(1000))
            assert {verdicts(each) for each in await asyncio.gather(*pods)} == {(UNSUPPORTED, SUPPORTED)}
            assert registry.count("GET") == 1
            assert first.statistics.fetches + second.statistics.fetches == 1
            assert first.statistics.shared_hits + second.statistics.shared_hits == 1

    asyncio.run(work())


def test_a_tag_that_another_replica_checked_is_not_checked_again_and_does_not_live_longer(redis: RedisServer) -> None:
    async def work() -> None:
        one, two = Clock(), Clock()
        async with serving() as registry, replica(redis, one) as first, replica(redis, two) as second:
            registry.index("app", architectures=["amd64"])
            image = PodImage(registry.name("app"))
            await ask(first, image.image)
            await ask(second, image.image)
            registry.index("app")
            await redis.ask("FLUSHALL")
            one.now += 301
            first.known(image)
            await settled(first)
            assert verdicts(first.known(image)) == (SUPPORTED, SUPPORTED)
            two.now += 301
            second.known(image)
            await settled(second)
            assert verdicts(second.known(image)) == (SUPPORTED, SUPPORTED)
            assert registry.asked == {"GET app/manifests/1": 1, "HEAD app/manifests/1": 1, **_got(registry.asked)}
            assert second.statistics.refreshes == 0

    asyncio.run(work())


def _got(asked: dict[str, int]) -> dict[str, int]:
    """The request for the new digest."""
    return {name: 1 for name in asked if name.startswith("GET app/manifests/sha256:")}


def test_tls_with_an_authority_of_its_own(tmp_path: Path) -> None:
    async def work(server: RedisServer) -> None:
        async with serving() as registry, replica(server) as first, replica(server) as second:
            registry.index("app")
            for look_ups in (first, second):
                assert verdicts(await ask(look_ups, registry.name("app"))) == (SUPPORTED, SUPPORTED)
            assert registry.count("GET") == 1

    with redis_server.running(tmp_path, tls=True) as server:
        asyncio.run(work(server))


def test_keys_are_hashed_and_expire(redis: RedisServer) -> None:
    async def work() -> None:
        async with serving() as registry, replica(redis) as look_ups:
            registry.index("secret-product")
            await ask(look_ups, registry.name("secret-product"))
            keys = [line for line in (await redis.ask("KEYS", "*")).splitlines() if line.startswith(PREFIX)]
            assert {key.removeprefix(PREFIX).partition(":")[0] for key in keys} == {"image", "digest"}
            for key in keys:
                assert "secret-product" not in key + await redis.ask("GET", key)
                assert int((await redis.ask("TTL", key)).strip().removeprefix(":")) > 0

    asyncio.run(work())


def test_what_is_stale_is_not_shared(redis: RedisServer, tmp_path: Path) -> None:
    async def work() -> None:
        file = tmp_path / "cache.sqlite"
        found = configuration(cache={"file": str(file), "sharedUrlFile": str(redis.url_file)})
        async with serving() as registry:
            registry.index("app")
            async with LookUps.from_configuration(found) as look_ups:
                await ask(look_ups, registry.name("app"))
            aged(file, 400)
            await redis.ask("FLUSHALL")
            registry.status = 503
            async with LookUps.from_configuration(found) as look_ups:
                await usable(look_ups)
                assert verdicts(await ask(look_ups, registry.name("app"))) == (SUPPORTED, SUPPORTED)
                keys = await redis.ask("KEYS", "*")
                assert ":digest:" in keys
                assert ":image:" not in keys

    asyncio.run(work())


def test_a_failed_look_up_is_not_shared_and_gives_its_claim_back(redis: RedisServer) -> None:
    async def work() -> None:
        async with serving(status=404) as registry, replica(redis) as first, replica(redis) as second:
            began = time.monotonic()
            for look_ups in (first, second):
                assert reason(await ask(look_ups, registry.name("app")))[1].startswith("not found: ")
            assert time.monotonic() - began < 0.4
            assert "*0" in await redis.ask("KEYS", "*")

    asyncio.run(work())


def test_what_another_wrote_is_validated(redis: RedisServer) -> None:
    async def work() -> None:
        async with serving() as registry:
            registry.index("app")
            for value in ("", "[]", '["sha256:12",[],[]]', "{", "[" * 5000, '["x"]', "x" * 20_000):
                async with replica(redis) as look_ups:
                    cache = look_ups._shared  # noqa: SLF001
                    assert cache is not None
                    name = cache._name("image", registry.name("app"))  # noqa: SLF001
                    await redis.ask("SET", name, value)
                    assert verdicts(await ask(look_ups, registry.name("app"))) == (SUPPORTED, SUPPORTED)
                    assert look_ups.statistics.shared_failures == 1
                    await redis.ask("FLUSHALL")

    asyncio.run(work())


def test_a_claim_without_a_result_costs_a_bounded_time_once(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "WAIT_SECONDS", 0.2)

    async def work() -> None:
        async with serving() as registry, replica(redis) as look_ups:
            cache = look_ups._shared  # noqa: SLF001
            assert cache is not None
            for tag in ("1", "2"):
                registry.index("app", tag)
                await redis.ask("SET", cache._name("claim", registry.name("app", tag)), "1")  # noqa: SLF001
            began = time.monotonic()
            assert verdicts(await ask(look_ups, registry.name("app", "1"))) == (SUPPORTED, SUPPORTED)
            assert 0.2 <= time.monotonic() - began < 0.5
            began = time.monotonic()
            assert verdicts(await ask(look_ups, registry.name("app", "2"))) == (SUPPORTED, SUPPORTED)
            assert time.monotonic() - began < 0.15

    asyncio.run(work())


def test_a_redis_that_hangs_costs_little_once_and_is_used_again_afterwards(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(redis_connection, "PAUSE_SECONDS", 0.05)

    async def work() -> None:
        async with serving() as registry, replica(redis) as look_ups:
            for tag in ("1", "2", "3"):
                registry.index("app", tag)
            with redis.stopped():
                for tag, most in (("1", 0.25), ("2", 0.15)):
                    began = time.monotonic()
                    assert verdicts(await ask(look_ups, registry.name("app", tag))) == (SUPPORTED, SUPPORTED)
                    assert time.monotonic() - began < most
            await usable(look_ups)
            await ask(look_ups, registry.name("app", "3"))
            assert "image" in await redis.ask("KEYS", "*")

    with caplog.at_level(logging.WARNING):
        asyncio.run(work())
    assert caplog.messages == [
        "the shared cache is not used until it answers again (TimeoutError)",
        "the shared cache answers again",
    ]


def test_a_redis_that_is_killed_in_the_middle_fails_no_pod(
    redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with serving(delay=0.02) as registry, replica(redis) as first, replica(redis) as second:
            for number in range(200):
                registry.index("app", str(number))

            async def pods(look_ups: LookUps) -> set[tuple[Verdict, ...]]:
                found = set()
                for start in range(0, 200, 20):
                    images = [PodImage(registry.name("app", str(number))) for number in range(start, start + 20)]
                    answers = await look_ups.look_up(images, seconds=1.5)
                    found |= {verdicts(each) for each in answers.values()}
                    if start == 80:
                        redis.kill()
                return found

            for found in await asyncio.gather(pods(first), pods(second)):
                assert found == {(SUPPORTED, SUPPORTED)}

    asyncio.run(work())
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$-7\r\n", b":1\r\n" * 50, b"-ERR no\r\n"]
)
def test_what_is_not_redis_fails_no_pod(answer: bytes, tmp_path: Path) -> None:
    async def lie(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(10_000):
            writer.write(answer)
            await writer.drain()
            if not answer:
                break
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(lie, "127.0.0.1", 0)
        file = tmp_path / "url"
        file.write_text(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")
        async with server, serving() as registry:
            registry.index("app")
            cache = Shared(file, configuration())
            async with looking_up(shared=cache) as look_ups:
                await asyncio.sleep(0.05)
                cache._connection.usable = True  # noqa: SLF001 (as if it had answered the test)
                began = time.monotonic()
                assert verdicts(await ask(look_ups, registry.name("app"))) == (SUPPORTED, SUPPORTED)
                assert time.monotonic() - began < 0.8

    asyncio.run(work())


@pytest.mark.parametrize("url", ["", "https://:hidden@example.com", "hidden", "redis://:hidden@h:port/0"])
def test_a_url_that_is_not_valid_is_an_error_that_does_not_show_it(url: str, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(url)
    with pytest.raises(redis_connection.SharedCacheError) as raised:
        Shared(file, configuration())
    assert "hidden" not in str(raised.value)
    assert str(file) in str(raised.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(redis_connection.SharedCacheError, match="url can't be read: No such file or directory"):
        Shared(tmp_path / "url", configuration())
