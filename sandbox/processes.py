"""Processes that outlive a command: told apart from others that got the same number, and stopped with all they started.

Every long-lived program gets a session of its own, so that everything it starts can be found by the session's number.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_STATE, _STARTED = 0, 19  # fields of /proc/PID/stat, counted behind the command's closing parenthesis; see proc(5)


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process number together with when it started: numbers are used again, the pair is not.

    ``started`` is clock ticks since boot on Linux, a date elsewhere; only good for comparing.
    """

    pid: int
    started: str


def identify(pid: int) -> ProcessId | None:
    """Return the running process of that number; one that has ended but was not yet waited for does not count."""
    return _from_proc(pid) if _PROC.joinpath("self", "stat").exists() else _from_ps(pid)


def _from_proc(pid: int) -> ProcessId | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[_STATE] in "ZX" else ProcessId(pid, fields[_STARTED])


def _from_ps(pid: int) -> ProcessId | None:
    said = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = said.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else ProcessId(pid, started.strip())


def alive(process: ProcessId) -> bool:
    """Return whether this process still runs."""
    _reap(process.pid)
    return identify(process.pid) == process


def session(leader: ProcessId) -> list[ProcessId]:
    """List the running processes of the session that ``leader`` opened, the leader included if it still runs.

    Empty if the number now belongs to another session.
    """
    now = identify(leader.pid)
    if now is not None and now != leader:
        return []
    members = []
    for pid in _all_pids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == leader.pid:
                found = identify(pid)
                members += [found] if found else []
    return members


def _all_pids() -> list[int]:
    if _PROC.joinpath("self", "stat").exists():
        return sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    listed = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True, text=True, check=True)
    return sorted(int(line) for line in listed.stdout.split())


def with_arguments(arguments: Sequence[str]) -> list[ProcessId]:
    """List the running processes whose command line ends with ``arguments``."""
    end = " ".join(arguments)
    found = (identify(pid) for pid, words in command_lines() if " ".join(words).endswith(end))
    return [process for process in found if process]


def command_lines() -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the command line of each running process."""
    for pid in _all_pids():
        yield pid, _command_line(pid)


def _command_line(pid: int) -> list[str]:
    if _PROC.joinpath("self", "stat").exists():
        with contextlib.suppress(OSError):
            words = (_PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            return [os.fsdecode(word) for word in words]
        return []
    said = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return said.stdout.split()


def stop_session(leader: ProcessId, *, grace: float = 10.0) -> bool:
    """End everything in the session: SIGTERM, and SIGKILL after ``grace`` seconds. Return whether anything ran."""
    members = session(leader)
    if not members:
        return False
    _signal(members, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        if not session(leader):
            return True
        time.sleep(0.05)
    _signal(session(leader), signal.SIGKILL)
    while session(leader):
        time.sleep(0.02)
    return True


def interrupt(leader: ProcessId, *, grace: float) -> None:
    """Send the leader SIGINT, give it ``grace`` seconds to end, then end its session."""
    _signal([leader], signal.SIGINT)
    deadline = time.monotonic() + grace
    while alive(leader) and time.monotonic() < deadline:
        time.sleep(0.05)
    stop_session(leader)


def _signal(members: Iterable[ProcessId], number: signal.Signals) -> None:
    for member in members:
        if identify(member.pid) == member:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member.pid, number)


def _reap(pid: int) -> None:
    """Reap a child that has ended, if it is one of ours."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
