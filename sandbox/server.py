"""Starting and stopping servers, each in a session of its own: the AWS server and the demo's registry."""

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
from sandbox.environment import forget_aws
from sandbox.layout import CLONE, Layout
from sandbox.processes import ProcessId, alive, identify, stop_session, with_arguments
from sandbox.state import Server

_READY = re.compile(r"^listening (http://127\.0\.0\.1:\d+)$", re.MULTILINE)
_TIMEOUT = 60.0  # seconds; importing all of moto takes 3 to 10
_TAIL = 2000


def start(layout: Layout) -> Server:
    """Start the AWS server, as :func:`launch` says."""
    return launch("sandbox.aws", layout.server, "AWS server")


def launch(module: str, folder: Path, what: str) -> Server:
    """Start a server on a free port of the loopback address and wait until it listens; ``folder`` gets its output.

    Raises:
        OutsideError: it ended, or does not listen; the message has the end of its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / "output.log"
    environ = os.environ | {"PYTHONPATH": str(CLONE)}
    forget_aws(environ)
    command = [sys.executable, "-m", module, "--port", "0", *_own_arguments(folder)]
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
        url = _wait(process, output, what)
    except BaseException:
        # Also on Ctrl-C: nothing else has recorded this process yet.
        process.kill()
        process.wait()
        raise
    if identity is None:
        raise OutsideError(f"The {what} ended as soon as it had started.", hint=_tail(output))
    # The server outlives this object: without this, Python warns about a child that was not waited for.
    process.returncode = 0
    return Server(identity, url)


def strays(folder: Path) -> list[ProcessId]:
    """List the running servers whose output is in ``folder``, also those that no state names any more."""
    return with_arguments(_own_arguments(folder))


def url_of(folder: Path) -> str | None:
    """Return the address that the server with its output in ``folder`` says it listens on."""
    output = folder / "output.log"
    ready = _READY.search(output.read_text(errors="replace")) if output.is_file() else None
    return ready[1] if ready else None


def _own_arguments(folder: Path) -> list[str]:
    return ["--state-dir", str(folder)]


def _wait(process: subprocess.Popen[bytes], output: Path, what: str) -> str:
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        if url := url_of(output.parent):
            return url
        if process.poll() is not None:
            raise OutsideError(f"The {what} ended with exit code {process.returncode}.", hint=_tail(output))
        time.sleep(0.05)
    raise OutsideError(f"The {what} did not listen within {_TIMEOUT:.0f} s.", hint=_tail(output))


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
