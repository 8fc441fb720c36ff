"""A copy of the project to run commands in, and a runner."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from multiarch.registry import attempts
from multiarch.retries import RetryPolicy
from tests.cli.running import every_table_read_at_80_columns, runner, type_of_run
from tests.comments.stand_in import TOKEN, GitLabStandIn, StandIn, serving
from tools import build

CLONE = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Support dates count as of 2026-11-21, whatever day the tests run."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cache, credentials or cluster of the person who runs the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "no-kubeconfig"))


@pytest.fixture(scope="session")
def kustomize() -> Path:
    """The real kustomize, found before ``own_folders`` gives Go an empty cache."""
    return build.ensure("kustomize")


@pytest.fixture(autouse=True)
def narrow(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every table that a test prints must also read on a terminal of 80 columns; not in the fast lane."""
    with nullcontext() if request.config.option.fast else every_table_read_at_80_columns():
        yield


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that can't be reached is tried again at once: seconds of waiting show nothing."""
    monkeypatch.setattr(attempts, "RetryPolicy", lambda retries, wait: RetryPolicy(retries, wait / 100))


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's configuration in a folder of its own, which is the working folder."""
    shutil.copy(CLONE / "Pulumi.yaml", tmp_path)
    shutil.copytree(CLONE / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> type_of_run:
    return runner(capsys)


@pytest.fixture
def gitlab(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """A stand-in for GitLab, and the variables of a job of its merge request 3."""
    with serving(GitLabStandIn()) as server:
        project = {"CI_PROJECT_ID": "7", "CI_MERGE_REQUEST_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "3"}
        address = {"CI_API_V4_URL": f"{server.url}/api/v4", "GITLAB_TOKEN": TOKEN}
        for name, value in {**project, **address}.items():
            monkeypatch.setenv(name, value)
        yield server
