"""The command line, as tests on real clusters run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.layout import CLONE
from tests.cli.running import runner, type_of_run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type_of_run:
    """The command line in the project's folder, on a day of its support dates, with a cache of its own."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.chdir(CLONE)
    return runner(capsys)
