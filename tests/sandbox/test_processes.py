"""Processes are known by number and start, and a session ends whole."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from sandbox.processes import ProcessId, alive, identify, session, stop_session

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
    leader = identity(process)
    yield process
    process.stdout.close()
    process.kill()
    process.wait()
    stop_session(leader, grace=0)


def identity(process: subprocess.Popen[str]) -> ProcessId:
    found = identify(process.pid)
    assert found is not None
    return found


def test_a_process_is_not_another_one_with_its_number(family: subprocess.Popen[str]) -> None:
    assert alive(identity(family))
    assert not alive(ProcessId(family.pid, "another time"))


def test_a_process_that_ended_is_not_alive_though_nobody_waited_for_it() -> None:
    process = subprocess.Popen(["true"], text=True)
    deadline = time.monotonic() + 10
    while identify(process.pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.wait()


def test_a_session_ends_with_children_that_ignore_it(family: subprocess.Popen[str]) -> None:
    leader = identity(family)
    members = session(leader)
    assert len(members) == 2
    assert stop_session(leader, grace=0.5)
    assert not any(alive(member) for member in members)
    assert not stop_session(leader)


def test_a_session_is_found_after_its_leader_is_gone(family: subprocess.Popen[str]) -> None:
    leader = identity(family)
    family.kill()
    family.wait()
    assert len(session(leader)) == 1
    assert stop_session(leader, grace=0.1)
    assert session(leader) == []


def test_the_session_of_a_process_that_got_the_number_later_is_left_alone(family: subprocess.Popen[str]) -> None:
    assert session(ProcessId(family.pid, "another time")) == []
    assert not stop_session(ProcessId(family.pid, "another time"))
    assert family.poll() is None
