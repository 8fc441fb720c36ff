"""Processes that outlive a command: found by their session or their command line, and stopped with all they started.

Every long-lived program gets a session of its own, so that everything it starts can be found by the session's number.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_PROC = Path("/proc")
_HAS_PROC = (_PROC / "self" / "stat").exists()


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended but was not yet waited for does not."""
    if not _HAS_PROC:
        said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return said.stdout.strip()[:1] not in ("", "Z")
    try:
        # The state comes behind the command's closing parenthesis; see proc(5).
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def session(leader: int) -> list[int]:
    """List the running processes of the session that ``leader`` opened, the leader included if it still runs."""
    members = []
    for pid in _all_pids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == leader and is_running(pid):
                members.append(pid)
    return members


def _all_pids() -> list[int]:
    if _HAS_PROC:
        return sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    listed = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True, text=True, check=True)
    return sorted(int(line) for line in listed.stdout.split())


def own_arguments(folder: Path) -> list[str]:
    """Return the end of the command line of the program of the sandbox whose output is in ``folder``."""
    return ["--state-dir", str(folder)]


def of_folder(folder: Path) -> list[int]:
    """List the running programs of the sandbox whose output is in ``folder``."""
    end = " ".join(own_arguments(folder))
    return [pid for pid, words in command_lines() if " ".join(words).endswith(end) and is_running(pid)]


def command_lines() -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the command line of each running process."""
    if not _HAS_PROC:
        listed = subprocess.run(["ps", "-A", "-o", "pid=,command="], capture_output=True, text=True, check=True)
        yield from ((int(number), words) for number, *words in map(str.split, listed.stdout.splitlines()))
        return
    for pid in _all_pids():
        with contextlib.suppress(OSError):
            words = (_PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            yield pid, [os.fsdecode(word) for word in words]


def stop_session(leader: int, *, grace: float = 10.0) -> bool:
    """End everything in the session: SIGTERM, and SIGKILL after ``grace`` seconds. Return whether anything ran."""
    return _stop(lambda: session(leader), grace)


def stop_pulumi(home: Path, *, grace: float = 10.0) -> bool:
    """End engines, language hosts and plugins whose ``PULUMI_HOME`` is ``home``, as :func:`stop_session` does.

    A command that was killed leaves them; stand-ins and programs end with them.
    """
    return _stop(lambda: _of_pulumi(home), grace)


def _of_pulumi(home: Path) -> list[int]:
    setting = os.fsencode(f"PULUMI_HOME={home}")
    return [
        pid
        for pid, words in command_lines()
        if Path(*words[:1]).name.startswith("pulumi") and setting in _environment(pid) and is_running(pid)
    ]


def _environment(pid: int) -> bytes:
    """Return the variables that a process was started with; none of another user's process."""
    if not _HAS_PROC:
        return subprocess.run(["ps", "-Eww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False).stdout
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "environ").read_bytes()
    return b""


def _stop(find: Callable[[], list[int]], grace: float) -> bool:
    members = find()
    if not members:
        return False
    _signal(members, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        if not find():
            return True
        time.sleep(0.05)
    _signal(find(), signal.SIGKILL)
    while find():
        time.sleep(0.02)
    return True


def interrupt(leader: int, *, grace: float) -> None:
    """Send the leader SIGINT, give it ``grace`` seconds to end, then end its session."""
    _signal([leader], signal.SIGINT)
    deadline = time.monotonic() + grace
    while is_running(leader) and time.monotonic() < deadline:
        time.sleep(0.05)
    stop_session(leader)


def _signal(members: Iterable[int], number: signal.Signals) -> None:
    for pid in members:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
