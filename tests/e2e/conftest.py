"""Worlds to bring up, and a watch on what they leave running."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.world import STACKS, World, make_world


@contextlib.contextmanager
def watched(root: Path, make: Callable[[Path], World] = make_world) -> Iterator[World]:
    """A world of which nothing is left running, whatever happens in it."""
    world = make(root)
    left: list[str] = []
    try:
        yield world
    finally:
        left = world.end()
    assert left == []


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world in which nothing runs yet."""
    with watched(tmp_path / "clone") as made:
        yield made


@pytest.fixture(scope="package")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """All four stacks, up in one world; what is up is always what the files say."""
    with watched(tmp_path_factory.mktemp("platform") / "clone") as made:
        for stack in STACKS:
            made.sandbox("up", stack)
        yield made


@pytest.fixture(autouse=True)
def _sound(request: pytest.FixtureRequest, seen: set[Path]) -> None:
    """Make the shared world anew where a test finds it locked or ended, or a file finds its stacks taken down."""
    if "platform" not in request.fixturenames:
        return
    world: World = request.getfixturevalue("platform")
    if world.fault(complete=request.path not in seen):
        world.sandbox("down", "--force")
        world.restore_files()
        for stack in STACKS:
            world.sandbox("up", stack)
    seen.add(request.path)


@pytest.fixture(scope="session")
def seen() -> set[Path]:
    """The files whose tests have begun."""
    return set()
