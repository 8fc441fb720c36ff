"""Projects to bring up, with a watch on what they leave running, and the sandbox's AWS by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import processes, state
from tests.sandbox.served import Served, address, serving
from tests.sandbox.shop import PROGRAM, SETTINGS, Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    yield from make_project(tmp_path / "clone of shop")  # with spaces: paths must be quoted where a shell reads them


def make_project(root: Path) -> Iterator[Project]:
    made = Project(root)
    made.stack_file().parent.mkdir(parents=True)
    (root / "Pulumi.yaml").write_text(SETTINGS)
    (root / "__main__.py").write_text(PROGRAM)
    made.set()
    yield made
    if server := state.load(made.layout).server:
        processes.stop_session(server.process)
    assert made.running() == []


@pytest.fixture(scope="module")
def up_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    for made in make_project(tmp_path_factory.mktemp("shared") / "clone of shop"):
        made.run("up", "shop-dev")
        yield made


@pytest.fixture
def shared(up_once: Project) -> Project:
    """A project whose sandbox is up; the stack's file is as it was at first, the stack as the last test left it."""
    up_once.set()
    return up_once


@pytest.fixture(scope="session")
def server() -> Iterator[Served]:
    with serving(policies=False) as process:
        yield Served(address(process))


@pytest.fixture
def aws(server: Served) -> Served:
    """An AWS that runs since an earlier test, and is empty."""
    server.empty()
    return server
