"""The shared control plane and rig, and the command line as tests on real clusters run it.

Package scope: what runs here needs processor time, also after the last test that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import control_plane as control_plane_module
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.programs import Programs
from sandbox.layout import CLONE
from tests.cli.running import runner, type_of_run
from tests.cluster import rig as rig_module
from tests.cluster.rig import Rig


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type_of_run:
    """The command line in the project's folder, on a day of its support dates, with a cache of its own."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.chdir(CLONE)
    return runner(capsys)


@pytest.fixture(scope="package")
def cluster_programs() -> Iterator[Programs]:
    """What the cluster's programs are started with."""
    with Programs.running() as programs:
        yield programs


@pytest.fixture(scope="package")
def control_plane(cluster_programs: Programs) -> ControlPlane:
    """A real API server, scheduler and controller manager. The rig uses it too: leave nothing in it."""
    return control_plane_module.start(cluster_programs)


@pytest.fixture(scope="package")
def session_rig(cluster_programs: Programs, control_plane: ControlPlane) -> Iterator[Rig]:
    """The rig as the tests share it; tests take ``rig``."""
    with rig_module.running(cluster_programs, control_plane) as running:
        yield running


@pytest.fixture
def rig(session_rig: Rig) -> Iterator[Rig]:
    """A rig without pools, pods and nodes: Karpenter, the control plane, AWS."""
    session_rig.check()
    yield session_rig
    session_rig.reset()
