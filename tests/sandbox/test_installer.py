"""Fetching the official release: a server on loopback stands in for Pulumi's hosts."""

from __future__ import annotations

import hashlib
import io
import socket
import tarfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from multiarch.errors import OutsideError
from sandbox import installer

VERSION = installer.VERSION
ARCHIVE = f"pulumi-{VERSION}-linux-x64.tar.gz"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        pass


@pytest.fixture(autouse=True)
def on_linux_amd64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


@pytest.fixture
def published(tmp_path: Path) -> Path:
    folder = tmp_path / "published"
    (folder / VERSION).mkdir(parents=True)
    return folder


@pytest.fixture
def url(published: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(published)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def archive(**programs: str) -> bytes:
    """Make a release's archive; keyword names are paths with ``/`` spelled ``__`` and ``-`` spelled ``_``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as opened:
        for name, content in programs.items():
            member = tarfile.TarInfo(name.replace("__", "/").replace("_", "-"))
            member.size, member.mode = len(content), 0o755
            opened.addfile(member, io.BytesIO(content.encode()))
    return buffer.getvalue()


def publish(published: Path, content: bytes, listed: str | None = None) -> None:
    (published / ARCHIVE).write_bytes(content)
    digest = listed or hashlib.sha256(content).hexdigest()
    sums = published / VERSION / f"pulumi-{VERSION[1:]}-checksums.txt"
    sums.write_text(f"{'0' * 64}  pulumi-{VERSION}-darwin-arm64.tar.gz\n{digest}  {ARCHIVE}\n")


def install(cache: Path, url: str, said: list[str]) -> Path:
    return installer.install(cache, said.append, archives=url, checksums=url)


def test_a_release_whose_sum_is_the_published_one_is_installed(tmp_path: Path, published: Path, url: str) -> None:
    publish(published, archive(pulumi__pulumi="engine", pulumi__pulumi_language_python="host", pulumi__LICENSE="text"))
    said: list[str] = []
    cache = tmp_path / "cache"
    engine = install(cache, url, said)
    assert engine == cache / VERSION / "pulumi" == installer.installed(cache)
    assert engine.read_text() == "engine"
    assert engine.stat().st_mode & 0o111
    assert sorted(file.name for file in engine.parent.iterdir()) == ["LICENSE", "pulumi", "pulumi-language-python"]
    assert [entry.name for entry in cache.iterdir()] == [VERSION]
    assert "its SHA-256 is the published one" in said[-1]


def test_a_release_with_another_sum_is_not_used(tmp_path: Path, published: Path, url: str) -> None:
    publish(published, archive(pulumi__pulumi="engine"), listed="f" * 64)
    with pytest.raises(OutsideError, match="it was not used"):
        install(tmp_path / "cache", url, [])
    assert not (tmp_path / "cache").exists()


def test_a_release_without_a_published_sum_is_not_used(tmp_path: Path, published: Path, url: str) -> None:
    (published / ARCHIVE).write_bytes(archive(pulumi__pulumi="engine"))
    with pytest.raises(OutsideError, match="answered 404"):
        install(tmp_path / "cache", url, [])
    (published / VERSION / f"pulumi-{VERSION[1:]}-checksums.txt").write_text(f"{'0' * 64}  other.tar.gz\n")
    with pytest.raises(OutsideError, match=f"does not list {ARCHIVE}"):
        install(tmp_path / "cache", url, [])
    assert not (tmp_path / "cache").exists()


def test_a_host_that_rejects_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="cannot be reached"):
        install(tmp_path / "cache", "http://127.0.0.1:9", [])


def test_a_host_that_is_silent_does_not_hold_anybody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installer, "TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with pytest.raises(OutsideError, match="cannot be reached"):
            install(tmp_path / "cache", f"http://127.0.0.1:{silent.getsockname()[1]}", [])
        assert time.monotonic() - began < 5


def test_a_machine_without_a_release_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(OutsideError, match="no release for linux on riscv64"):
        install(tmp_path / "cache", "http://127.0.0.1:9", [])
