"""What all tests share: their lanes, and one test cluster for the whole session, started when a test asks for it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from tests import lanes
from tests.cluster import control_plane as control_plane_module
from tests.cluster import rig as rig_module
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import Programs
from tests.cluster.rig import Rig

_WATCH = lanes.Watch()

# Examples are not timed: on a busy machine, any may take long.
_UNTIMED = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=_UNTIMED)
hypothesis.settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in lanes.LANES.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    sys.addaudithook(_WATCH)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background jobs ignore it, and so would the programs whose Ctrl-C is tested.
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before markers select tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        lanes.mark(item)
    items.sort(key=lanes.order)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> lanes.Scheduler:  # noqa: ANN401 (xdist's own)
    return lanes.Scheduler(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    _WATCH.running = item


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
