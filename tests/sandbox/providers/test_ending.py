"""A stand-in ends at once when the engine says so, and when the engine is gone."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import processes
from sandbox.cluster.programs import wait_for
from sandbox.environment import write_plugins
from sandbox.layout import Layout
from sandbox.providers import forking

# An engine: it starts a plugin and reads its port.
ENGINE = "import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:]); print(p.pid, flush=True); time.sleep(600)"


FORKS = """
import sys
from pathlib import Path
from sandbox.providers import forking
forking.serve(Path(sys.argv[1]), ahead=False)
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A stand-in that listens, and the process that has started it."""
    layout = Layout(tmp_path)
    write_plugins(layout)
    program = min(layout.home.rglob("pulumi-resource-kubernetes"))  # of two versions
    command = [sys.executable, "-c", ENGINE, str(program), "127.0.0.1:9"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        # Two numbers, the process's and the port, in this order: the plugin needs a second to listen.
        found = int(engine.stdout.readline())
        assert int(engine.stdout.readline()) > 0
        yield engine, found
        engine.kill()
    if processes.is_running(found):
        os.kill(found, signal.SIGKILL)


def ends(process: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while processes.is_running(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes.is_running(process)


def test_a_signal_ends_it_whichever_thread_gets_it(
    plugin: tuple[subprocess.Popen[str], int],
) -> None:
    _, process = plugin
    threads = sorted(int(entry.name) for entry in Path(f"/proc/{process}/task").iterdir())
    assert len(threads) > 1
    # As when the signal comes while the main thread, which waits for requests, cannot be the one to handle it.
    assert ctypes.CDLL(None).tgkill(process, threads[-1], int(signal.SIGINT)) == 0
    assert ends(process, 3)


def test_it_ends_with_an_engine_that_was_killed(plugin: tuple[subprocess.Popen[str], int]) -> None:
    engine, process = plugin
    engine.kill()
    assert ends(process, 5)


def test_a_forked_stand_in_ends_with_what_the_engine_has_started(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    socket = Layout(tmp_path).server / forking.STAND_INS
    socket.parent.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", FORKS, str(socket.parent)]) as forks:
        wait_for(socket.exists, "the socket", timeout=20)
        _, process = request.getfixturevalue("plugin")
        children = Path(f"/proc/{forks.pid}/task/{forks.pid}/children")
        (child,) = map(int, children.read_text().split())
        os.kill(process, signal.SIGINT)
        assert ends(process, 3)
        assert ends(child, 3)
        forks.kill()
