"""A stand-in ends at once when the engine says so, and when the engine is gone."""

from __future__ import annotations

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
def plugin(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """An engine, what it has started, and the stand-in that listens."""
    layout = Layout(tmp_path)
    write_plugins(layout)
    socket = layout.server / forking.STAND_INS
    socket.parent.mkdir(parents=True)
    program = min(layout.home.rglob("pulumi-resource-kubernetes"))  # of two versions
    command = [sys.executable, "-c", ENGINE, str(program), "127.0.0.1:9"]
    with subprocess.Popen([sys.executable, "-c", FORKS, str(socket.parent)]) as forks:
        wait_for(socket.exists, "the socket", timeout=20)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as engine:
            assert engine.stdout is not None
            # Two numbers, the process's and the port, in this order: the plugin needs a second to listen.
            found = int(engine.stdout.readline())
            assert int(engine.stdout.readline()) > 0
            (child,) = map(int, Path(f"/proc/{forks.pid}/task/{forks.pid}/children").read_text().split())
            yield engine, found, child
            engine.kill()
        forks.kill()


def ends(process: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while processes.is_running(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes.is_running(process)


def test_a_signal_ends_it_with_what_the_engine_has_started(plugin: tuple[subprocess.Popen[str], int, int]) -> None:
    _, process, child = plugin
    os.kill(process, signal.SIGINT)
    assert ends(process, 3)
    assert ends(child, 3)


def test_it_ends_with_an_engine_that_was_killed(plugin: tuple[subprocess.Popen[str], int, int]) -> None:
    engine, process, child = plugin
    engine.kill()
    assert ends(process, 5)
    assert ends(child, 3)


def test_a_stand_in_that_can_not_be_started_says_so(tmp_path: Path) -> None:
    write_plugins(Layout(tmp_path))
    program = min(tmp_path.rglob("pulumi-resource-aws"))
    done = subprocess.run([program, "127.0.0.1:9"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the process that starts the stand-in for aws is gone" in done.stderr
