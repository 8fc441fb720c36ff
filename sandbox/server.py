"""Starting and stopping programs behind a command, each in a session of its own: AWS, a registry, a cluster."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from multiarch.errors import OutsideError
from sandbox.environment import forget_aws
from sandbox.layout import CLONE, Layout
from sandbox.processes import interrupt, is_running, own_arguments
from sandbox.providers import forking
from sandbox.state import Server, load

_READY = re.compile(r"^listening (http://127\.0\.0\.1:\d+)$", re.MULTILINE)
_TIMEOUT = 60.0  # seconds; importing all of moto takes 3 to 10
_TAIL = 2000
OUTPUT = "output.log"
T = TypeVar("T")


def start(layout: Layout) -> Server:
    """Start the AWS server and what starts stand-ins and programs, as :func:`launch` says."""
    # A folder without a project has no program, and no stand-in to load ahead.
    return launch("sandbox.background", layout.server, "AWS server", *([forking.AHEAD] if layout.is_own() else []))


def launch(module: str, folder: Path, what: str, *options: str) -> Server:
    """Start a server on a free port of the loopback address and wait until it listens; ``folder`` gets its output.

    Raises what :func:`run_behind` raises.
    """
    return Server(
        *run_behind(module, (*options, "--port", "0"), folder, what, lambda: url_of(folder), timeout=_TIMEOUT)
    )


def run_behind(
    module: str,
    arguments: Sequence[str],
    folder: Path,
    what: str,
    ready: Callable[[], T | None],
    *,
    timeout: float,
    say: Callable[[str], None] = lambda _line: None,
) -> tuple[int, T]:
    """Start a program of this package that outlives the command; return its process and what ``ready`` then gives.

    ``folder`` gets its output, of which each line goes to ``say`` until it is ready.

    Raises:
        OutsideError: it ended, or is not ready in ``timeout`` seconds; the message has the end of its output.
    """
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / OUTPUT
    environ = os.environ | {"PYTHONPATH": str(CLONE)}
    forget_aws(environ)
    command = [sys.executable, "-m", module, *arguments, *own_arguments(folder)]
    with output.open("wb") as sink:
        process = subprocess.Popen(
            command,
            cwd=CLONE,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        found = _wait(process, output, what, ready, timeout, say)
    except BaseException:
        # Also on Ctrl-C: nothing else has recorded this process yet.
        interrupt(process.pid, grace=timeout)
        process.wait()
        raise
    # The program outlives this object: without this, Python warns about a child that was not waited for.
    process.returncode = 0
    return process.pid, found


def _wait(
    process: subprocess.Popen[bytes],
    output: Path,
    what: str,
    ready: Callable[[], T | None],
    timeout: float,
    say: Callable[[str], None],
) -> T:
    deadline, said = time.monotonic() + timeout, 0
    while time.monotonic() < deadline:
        lines = output.read_text(errors="replace").splitlines()
        for line in lines[said:]:
            say(line)
        said = len(lines)
        if found := ready():
            return found
        if process.poll() is not None:
            raise OutsideError(f"The {what} ended with exit code {process.returncode}.", hint=_tail(output))
        time.sleep(0.05)
    raise OutsideError(f"The {what} was not ready within {timeout:.0f} s.", hint=_tail(output))


def url_of(folder: Path) -> str | None:
    """Return the address that the server with its output in ``folder`` says it listens on."""
    output = folder / OUTPUT
    ready = _READY.search(output.read_text(errors="replace")) if output.is_file() else None
    return ready[1] if ready else None


def _tail(output: Path) -> str:
    return f"It said:\n{output.read_text(errors='replace')[-_TAIL:]}"


def answers(server: Server) -> bool:
    """Return whether this server still runs and accepts connections."""
    if not is_running(server.process):
        return False
    address = urlsplit(server.url)
    try:
        socket.create_connection((address.hostname or "", address.port or 0), timeout=5).close()
    except OSError:
        return False
    return True


def find_running(layout: Layout) -> Server | None:
    """Return the AWS server if it runs and accepts connections."""
    known = load(layout).server
    return known if known and answers(known) else None
