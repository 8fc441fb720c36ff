"""Which engine is taken. Shell scripts stand in for engines: only what they say of themselves matters here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from multiarch.errors import OutsideError
from sandbox import engine, installer
from sandbox.environment import write_shim
from sandbox.layout import Layout
from sandbox.state import Engine
from tools import build


@pytest.fixture
def said() -> list[str]:
    return []


def put(folder: Path, version: str, *, host: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    names = ["pulumi", "pulumi-language-python"] if host else ["pulumi"]
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
        (folder / name).chmod(0o755)
    return folder / "pulumi"


def environ(tmp_path: Path, *folders: Path) -> dict[str, str]:
    return {"PATH": ":".join(map(str, folders)), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def unreachable(_cache: Path, _say: Callable[[str], None]) -> Path:
    raise OutsideError("the host cannot be reached")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("version", ["v3.259.0", "3.300.1", "v3.272.1-alpha.x1"])
def test_an_engine_on_path_is_taken(tmp_path: Path, said: list[str], version: str) -> None:
    path = put(tmp_path / "bin", version)
    assert engine.find(said.append, environ(tmp_path, path.parent)) == Engine(path, version, "PATH")
    assert said == []


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("v3.258.9", "older than v3.259.0"),
        ("oops", "its version"),
    ],
)
def test_an_engine_on_path_that_does_not_do_is_passed_over_with_the_reason(
    tmp_path: Path, said: list[str], version: str, reason: str
) -> None:
    path = put(tmp_path / "bin", version)
    with pytest.raises(OutsideError, match=reason):
        engine.find(said.append, environ(tmp_path, path.parent), fetch=unreachable)
    assert reason in said[0]


def test_the_sandboxs_own_pulumi_is_not_taken_for_an_engine(tmp_path: Path, said: list[str]) -> None:
    real = put(tmp_path / "bin", "v3.272.0")
    shim = write_shim(Layout(tmp_path / "clone"), Engine(real, "v3.272.0", "PATH"))
    assert engine.find(said.append, environ(tmp_path, shim.parent, real.parent)).path == real


def test_a_release_fetched_before_is_taken_without_asking_anybody(tmp_path: Path, said: list[str]) -> None:
    path = put(tmp_path / "cache" / "multiarch-eks" / "pulumi-release" / installer.VERSION, "v3.272.0")
    found = engine.find(said.append, environ(tmp_path), fetch=unreachable)
    assert found == Engine(path, "v3.272.0", "the official release")


def test_the_release_is_fetched_when_there_is_no_engine(tmp_path: Path, said: list[str]) -> None:
    def fetch(cache: Path, _say: Callable[[str], None]) -> Path:
        return put(cache / installer.VERSION, "v3.272.0")

    assert engine.find(said.append, environ(tmp_path), fetch=fetch).source == "the official release"


def test_a_built_engine_is_taken_before_the_network_is_asked(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    found = engine.find(said.append, {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}, fetch=unreachable)
    assert (found.version, found.source) == (build.PULUMI_VERSION, "built with Go")
    assert (found.path.parent / "pulumi-language-python-exec").is_file()


def test_without_any_way_the_message_names_all_of_them_and_what_works_without(tmp_path: Path, said: list[str]) -> None:
    with pytest.raises(OutsideError) as raised:
        engine.find(said.append, environ(tmp_path), fetch=unreachable)
    assert raised.value.exit_code == 3
    text = str(raised.value)
    for part in (
        "there is no `pulumi` on PATH",
        "the official release could not be downloaded",
        "there is no Go to build one with",
        "https://www.pulumi.com/docs/install/",
        "https://get.pulumi.com",
        "https://go.dev/doc/install",
        "`make render STACK=…`",
        "need only Python",
    ):
        assert part in text


def test_the_release_is_the_one_the_python_sdk_belongs_to() -> None:
    requirements = (Path(build.__file__).parent.parent / "requirements.txt").read_text().splitlines()
    assert f"pulumi=={installer.VERSION[1:]}" in requirements
