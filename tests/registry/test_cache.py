"""Caches: bounded memory, a file that several processes share and that may be damaged."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from multiarch.registry.cache import Cache, find_cache_file
from multiarch.registry.credentials.docker_config import find_config_file
from multiarch.registry.model import Manifest
from tests.registry import server
from tests.registry.images import client, push
from tests.registry.server import digest_of

NAME = "docker.io/library/nginx"


def content(text: bytes) -> Manifest:
    return Manifest("application/json", digest_of(text), text)


@pytest.fixture(params=["memory", "sqlite"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cache]:
    made = Cache(None if request.param == "memory" else tmp_path / "cache" / "registry.sqlite")
    yield made
    made.close()


def test_content_comes_back_in_the_repository_it_was_kept_for(cache: Cache) -> None:
    kept = content(b"{}")
    cache.keep(NAME, kept)
    assert cache.content(NAME, kept.digest) == kept
    assert cache.content("quay.io/other", kept.digest) is None
    assert cache.content(NAME, digest_of(b"other")) is None


def test_a_tag_comes_back_with_the_time_it_was_checked(cache: Cache) -> None:
    before = time.time()
    cache.point(NAME, "1.27", digest_of(b"{}"))
    pointer = cache.pointer(NAME, "1.27")
    assert pointer is not None
    assert pointer.digest == digest_of(b"{}")
    assert before <= pointer.checked <= time.time()
    cache.forget(NAME, "1.27")
    assert cache.pointer(NAME, "1.27") is None


def test_the_file_is_its_owners_alone_and_outlives_the_process(tmp_path: Path) -> None:
    file = tmp_path / "new" / "registry.sqlite"
    first = Cache(file)
    first.keep(NAME, content(b"{}"))
    files = sorted(file.parent.iterdir())
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    first.close()
    second = Cache(file)
    assert second.content(NAME, digest_of(b"{}")) == content(b"{}")
    assert second.notes == []
    second.close()


def test_a_database_that_is_damaged_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "registry.sqlite"
    file.write_bytes(b"not a database" * 1000)
    cache = Cache(file)
    cache.keep(NAME, content(b"{}"))
    assert cache.content(NAME, digest_of(b"{}")) is None
    note = "is not used: file is not a database. Remove it: a new one is made."
    assert cache.notes == [f"The cache {file} {note}"]


def test_changed_content_is_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "registry.sqlite"
    cache = Cache(file)
    cache.keep(NAME, content(b"{}"))
    other = sqlite3.connect(file)
    other.execute("UPDATE content SET content = ?", (b"{ }",))
    other.commit()
    other.close()
    assert cache.content(NAME, digest_of(b"{}")) is None
    assert cache.notes == []
    cache.close()


def test_a_file_of_another_layout_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "registry.sqlite"
    old = sqlite3.connect(file)
    old.execute("PRAGMA user_version = 99")
    old.close()
    cache = Cache(file)
    assert cache.notes == [f"The cache {file} is not used: its layout is 99, not 1. Remove it: a new one is made."]
    cache.close()


def test_a_place_that_can_not_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "registry.sqlite")
    cache.keep(NAME, content(b"{}"))
    assert cache.content(NAME, digest_of(b"{}")) is None
    (note,) = cache.notes
    assert note == f"The cache {tmp_path / 'file' / 'registry.sqlite'} is not used: File exists."


def test_the_oldest_go_when_the_file_grows_too_large(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "registry.sqlite", limit=100_000)
    texts = [f"{number:04}".encode() * 500 for number in range(401)]
    for text in texts:
        cache.keep(NAME, content(text))
    assert cache.content(NAME, digest_of(texts[0])) is None
    assert cache.content(NAME, digest_of(texts[-1])) == content(texts[-1])
    cache.close()
    database = sqlite3.connect(tmp_path / "registry.sqlite")
    (size,) = database.execute("SELECT sum(length(content)) FROM content").fetchone()
    database.close()
    assert size <= 100_000 * 9 / 8


def test_tags_are_bounded_without_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiarch.registry.cache._MOST_TAGS", 10)
    cache = Cache(limit=1024)
    for number in range(200):
        cache.point("name", f"tag-{number}", digest_of(b""))
    kept = [number for number in range(200) if cache.pointer("name", f"tag-{number}")]
    assert kept[-1] == 199
    assert len(kept) < 20


WRITER = """
import sys
from pathlib import Path
from multiarch.registry.cache import Cache
from multiarch.registry.model import Manifest, compute_digest

cache = Cache(Path(sys.argv[1]))
for number in range(100):
    text = f"{sys.argv[2]} {number}".encode()
    cache.keep("name", Manifest("any", compute_digest(text), text))
    assert cache.content("name", compute_digest(text)), "lost"
cache.close()
sys.exit("; ".join(cache.notes) or None)
"""


def test_several_processes_share_the_file(tmp_path: Path) -> None:
    file = tmp_path / "registry.sqlite"
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-c", WRITER, str(file)]
    writers = [
        subprocess.Popen([*command, str(number)], env=environ, stderr=subprocess.PIPE, text=True) for number in range(4)
    ]
    assert [(writer.communicate(timeout=60)[1], writer.returncode) for writer in writers] == [("", 0)] * 4
    cache = Cache(file)
    for number in range(4):
        text = f"{number} 99".encode()
        assert cache.content("name", digest_of(text)) is not None
    cache.close()


def test_the_file_is_in_the_cache_folder_of_the_user() -> None:
    assert find_cache_file({"XDG_CACHE_HOME": "/there"}) == Path("/there/multiarch-eks/registry.sqlite")
    assert find_cache_file({"XDG_CACHE_HOME": "here"}) == Path.home() / ".cache" / "multiarch-eks" / "registry.sqlite"


def test_a_user_without_a_home_folder_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert find_cache_file({}) is None
    assert find_cache_file({"XDG_CACHE_HOME": "/there"}) == Path("/there/multiarch-eks/registry.sqlite")
    assert find_config_file({}) == Path(".docker/config.json")


@pytest.mark.registry
def test_what_one_client_read_the_next_knows_without_the_registry(tmp_path: Path) -> None:
    file = tmp_path / "registry.sqlite"

    async def read(cache: Cache) -> str:
        async with client(cache=cache) as opened:
            return (await opened.manifest(reference)).digest

    with server.running() as registry:
        push(registry)
        reference = registry.reference("team/image", "1.0")
        first = Cache(file)
        digest = asyncio.run(read(first))
        first.close()
    second = Cache(file)
    assert asyncio.run(read(second)) == digest  # nobody listens there any more
    second.close()
