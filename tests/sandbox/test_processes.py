"""A session ends whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from sandbox.processes import is_running, session, stop_session

# A parent whose child is in a process group of its own and ignores a request to end, as plugins of an engine may.
STUBBORN = """\
import os, signal, sys, time
if os.fork() == 0:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def family() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.stdout.close()
    process.kill()
    process.wait()
    stop_session(process.pid, grace=0)


def test_a_session_ends_with_children_that_ignore_it(family: subprocess.Popen[str]) -> None:
    members = session(family.pid)
    assert len(members) == 2
    assert stop_session(family.pid, grace=0.5)
    assert not any(map(is_running, members))  # nobody has waited for the leader yet
    assert not stop_session(family.pid)


def test_a_session_is_found_after_its_leader_is_gone(family: subprocess.Popen[str]) -> None:
    family.kill()
    family.wait()
    assert len(session(family.pid)) == 1
    assert stop_session(family.pid, grace=0.1)
    assert session(family.pid) == []
