"""Starting and stopping the AWS server: ``python -m sandbox.aws`` in a session of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from multiarch.errors import OutsideError
from sandbox.layout import CLONE, Layout
from sandbox.processes import ProcessId, alive, identify, stop_session
from sandbox.state import Server

_READY = re.compile(r"^listening (http://127\.0\.0\.1:\d+)$", re.MULTILINE)
_TIMEOUT = 60.0  # seconds; importing all of moto takes 3 to 10
_TAIL = 2000


def start(layout: Layout) -> Server:
    """Start the server on a free port of the loopback address and wait until it listens.

    Raises:
        OutsideError: it ended, or does not listen; the message has the end of its log.
    """
    layout.server.mkdir(parents=True, exist_ok=True)
    output = layout.server / "output.log"
    # The server must not see the caller's credentials and endpoints.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environ["PYTHONPATH"] = str(CLONE)
    command = [sys.executable, "-m", "sandbox.aws", "--port", "0", "--state-dir", str(layout.server)]
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
    identity = identify(process.pid)
    try:
        url = _wait(process, output)
    except BaseException:
        # Also on Ctrl-C: nothing else has recorded this process yet.
        process.kill()
        process.wait()
        raise
    if identity is None:
        raise OutsideError("The AWS server ended as soon as it had started.", hint=_tail(output))
    # The server outlives this object: without this, Python warns about a child that was not waited for.
    process.returncode = 0
    return Server(identity, url)


def _wait(process: subprocess.Popen[bytes], output: Path) -> str:
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        ready = _READY.search(output.read_text(errors="replace"))
        if ready:
            return ready[1]
        if process.poll() is not None:
            raise OutsideError(f"The AWS server ended with exit code {process.returncode}.", hint=_tail(output))
        time.sleep(0.05)
    raise OutsideError(f"The AWS server did not listen within {_TIMEOUT:.0f} s.", hint=_tail(output))


def _tail(output: Path) -> str:
    return f"It said:\n{output.read_text(errors='replace')[-_TAIL:]}"


def answers(server: Server) -> bool:
    """Whether this server still runs and accepts connections."""
    if not alive(server.process):
        return False
    address = urlsplit(server.url)
    try:
        socket.create_connection((address.hostname or "", address.port or 0), timeout=5).close()
    except OSError:
        return False
    return True


def stop(process: ProcessId) -> bool:
    """End the server; return whether it ran."""
    return stop_session(process)
