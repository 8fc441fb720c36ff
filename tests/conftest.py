"""The test cluster, one for the whole session: started when a test first asks for it, gone when the session ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster import control_plane as control_plane_module
from tests.cluster import rig as rig_module
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import Programs
from tests.cluster.rig import Rig


@pytest.fixture(scope="session")
def cluster_programs() -> Iterator[Programs]:
    """What the cluster's programs are started with."""
    with Programs.running() as programs:
        yield programs


@pytest.fixture(scope="session")
def control_plane(cluster_programs: Programs) -> ControlPlane:
    """A real API server, scheduler and controller manager. The rig uses it too: leave nothing in it."""
    return control_plane_module.start(cluster_programs)


@pytest.fixture(scope="session")
def session_rig(cluster_programs: Programs, control_plane: ControlPlane) -> Iterator[Rig]:
    """The rig as the session shares it; tests take ``rig``."""
    with rig_module.running(cluster_programs, control_plane) as rig:
        yield rig


@pytest.fixture
def rig(session_rig: Rig) -> Iterator[Rig]:
    """A rig without pools, pods and nodes: Karpenter, the control plane, AWS."""
    session_rig.check()
    yield session_rig
    session_rig.reset()
