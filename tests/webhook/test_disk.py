"""Manifests on disk: there after a restart, and never in the way."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

import pytest

from multiarch.registry.cache.model import Content
from multiarch.webhook.images.disk import DiskCache
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.model import Found, PodImage
from tests.webhook.look_ups import SUPPORTED, Clock, ask, configuration, settled, verdicts
from tests.webhook.memories import digest
from tests.webhook.registry_stand_in import digest_of, serving

LIMIT = 1024 * 1024


def test_images_are_known_after_a_restart_without_a_request(tmp_path: Path) -> None:
    async def work() -> None:
        found = configuration(cache={"file": str(tmp_path / "cache.sqlite")})
        async with serving() as registry:
            registry.index("app")
            registry.single("alone")
            for _ in range(2):
                async with LookUps.from_configuration(found) as look_ups:
                    assert verdicts(await ask(look_ups, registry.name("app"))) == (SUPPORTED, SUPPORTED)
                    await ask(look_ups, registry.name("alone"))
                    assert look_ups.notes == []
            assert registry.asked.total() == 3

    asyncio.run(work())


def aged(file: Path, seconds: float) -> None:
    """Let the registry's answers be that much older."""
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE tag SET checked = checked - ?", (seconds,))
    connection.close()


def test_a_tag_does_not_get_younger_by_a_restart(tmp_path: Path) -> None:
    async def work() -> None:
        file = tmp_path / "cache.sqlite"
        found = configuration(cache={"file": str(file)})
        async with serving() as registry:
            registry.index("app")
            async with LookUps.from_configuration(found) as look_ups:
                await ask(look_ups, registry.name("app"))
            aged(file, 290)
            clock = Clock(time.monotonic())
            async with LookUps.from_configuration(found, clock) as look_ups:
                await ask(look_ups, registry.name("app"))
                assert registry.asked == {"GET app/manifests/1": 1}
                clock.now += 20
                assert look_ups.known(PodImage(registry.name("app"))) is not None
                await settled(look_ups)
                assert registry.asked == {"GET app/manifests/1": 1, "HEAD app/manifests/1": 1}

    asyncio.run(work())


@pytest.mark.parametrize(("age", "known"), [(3000, True), (4000, False)])
def test_while_the_registry_fails_tags_are_believed_as_long_as_without_the_restart(
    age: int, *, known: bool, tmp_path: Path
) -> None:
    async def work() -> None:
        file = tmp_path / "cache.sqlite"
        found = configuration(cache={"file": str(file)})
        async with serving() as registry:
            registry.index("app")
            registry.single("alone")
            async with LookUps.from_configuration(found) as look_ups:
                for name in ("app", "alone"):
                    await ask(look_ups, registry.name(name))
            aged(file, age)
            registry.status = 503
            async with LookUps.from_configuration(found) as look_ups:
                for name in ("app", "alone"):
                    answer = await ask(look_ups, registry.name(name))
                    assert isinstance(answer, Found) is known
                assert look_ups.statistics.failures["server error"] == 2

    asyncio.run(work())


@pytest.mark.parametrize("kind", ["damaged", "a folder", "below a file", "another layout"])
def test_a_file_that_cannot_be_used_is_a_note(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    if kind == "damaged":
        file.write_bytes(b"not a database" * 1000)
    elif kind == "a folder":
        file.mkdir()
    elif kind == "below a file":
        file.write_text("")
        file = file / "cache.sqlite"
    else:
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()

    async def work() -> None:
        async with serving() as registry:
            registry.index("app")
            found = configuration(cache={"file": str(file)})
            async with LookUps.from_configuration(found) as look_ups:
                assert verdicts(await ask(look_ups, registry.name("app"))) == (SUPPORTED, SUPPORTED)
                await asyncio.sleep(0.05)
                assert len(look_ups.notes) == 1
                assert str(file) in look_ups.notes[0]

    asyncio.run(work())


def test_what_was_just_stored_or_removed_counts_before_it_is_written(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache.sqlite", LIMIT)
    content = Content("application/json", digest_of(b"{}"), b"{}")
    cache.keep("example.com/app", content)
    cache.point("example.com/app", "1", content.digest)
    assert cache.content("example.com/app", content.digest) == content
    assert cache.pointer("example.com/app", "1") is not None
    cache.forget("example.com/app", "1")
    assert cache.pointer("example.com/app", "1") is None
    cache.close()
    again = DiskCache(tmp_path / "cache.sqlite", LIMIT)
    assert again.content("example.com/app", content.digest) == content
    assert again.pointer("example.com/app", "1") is None
    again.point("example.com/app", "1", content.digest)
    assert again.pointer("example.com/app", "1") is not None
    again.close()


def test_another_process_that_keeps_the_file_locked_costs_little(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    cache = DiskCache(file, LIMIT)
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        for number in range(2000):
            cache.point("example.com/app", str(number), digest(number))
            assert cache.pointer("example.com/other", str(number)) is None
        assert time.monotonic() - began < 1.0
        other.execute("COMMIT")
    other.close()
    cache.close()
