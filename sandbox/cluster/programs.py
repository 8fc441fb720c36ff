"""The programs of a cluster: started in sessions of their own, logged, and ended together."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from multiarch.errors import OutsideError
from sandbox import processes
from sandbox.cluster import leftovers
from sandbox.layout import CLONE

LOG_LINES_SHOWN = 25
_PORTS = range(20000, 30000)
"""Below the ports of Kubernetes' Services, and below those that Linux gives to outgoing connections at any time."""
_GUARD_SECONDS = 300.0  # it removes the files of all containers
T = TypeVar("T")


class ClusterError(OutsideError):
    """A part of the cluster did not do what it should: the message names it and shows the end of its log."""


def wait_for(check: Callable[[], T | None], what: str, *, timeout: float, pause: float = 0.1) -> T:
    """Return the first result of ``check`` that is true, so not an empty list or string; times in seconds.

    Raises:
        ClusterError: there was none in time.
    """
    deadline = time.monotonic() + timeout
    while True:
        found = check()
        if found:
            return found
        if time.monotonic() > deadline:
            raise ClusterError(f"waited {timeout:.0f} s for {what}")
        time.sleep(pause)


def free_ports(count: int) -> list[int]:
    """Take ``count`` different ports that nobody listens on now, and that no outgoing connection gets by itself.

    Raises:
        ClusterError: there are not so many.
    """
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
            if len(found) == count:
                return found
            with contextlib.suppress(OSError):
                stack.enter_context(socket.socket()).bind(("", port))
                found.append(port)
    raise ClusterError(f"fewer than {count} ports from {_PORTS.start} to {_PORTS.stop - 1} are free")


@dataclass(frozen=True, slots=True)
class Program:
    """A running program and where its output goes."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def tail(self) -> str:
        """Return the end of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the program's process for a while, so that it learns at once of all that happened meanwhile."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def still_running(self) -> None:
        """Raise ClusterError, with the end of the log, if the program has ended."""
        if self.process.poll() is not None:
            raise ClusterError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")


class Programs:
    """Starts programs, remembers them, ends them in reverse order. ``folder`` is theirs and goes away with them."""

    def __init__(self, folder: Path) -> None:
        """Use ``running`` instead: it ends what it starts."""
        self.folder = folder
        self._running: list[Program] = []

    @classmethod
    @contextlib.contextmanager
    def running(cls) -> Iterator[Programs]:
        """Give a place for programs; leaving it, by whatever way, ends them and removes the folder."""
        folder = Path(tempfile.mkdtemp(prefix="multiarch-cluster-"))
        guard = subprocess.Popen(
            [sys.executable, "-m", "sandbox.cluster.leftovers", str(folder)],
            cwd=CLONE,
            env=os.environ | {"PYTHONPATH": str(CLONE)},
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C goes to the terminal's process group, and the guard is to outlive it
        )
        programs = cls(folder)
        try:
            yield programs
        finally:
            for program in reversed(programs._running.copy()):
                # What they hold is thrown away: nobody needs to end in good order.
                programs.stop(program, grace=1.0)
            guard.communicate(timeout=_GUARD_SECONDS)
            leftovers.remove(folder)  # the guard has done it, unless it was killed

    def start(self, name: str, command: Sequence[str | Path], environ: Mapping[str, str] | None = None) -> Program:
        """Start a program; what it says goes to ``NAME.log``. ``environ`` is added to the caller's environment."""
        log = self.folder / f"{name}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=self.folder,
                env={**os.environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        program = Program(name, process, log)
        self._running.append(program)
        return program

    def stop(self, program: Program, *, grace: float = 5.0) -> None:
        """End a program and all it started; after ``grace`` seconds without mercy."""
        self._running.remove(program)
        processes.stop_session(program.process.pid, grace=grace)
        program.process.wait(timeout=10)

    def named(self, name: str) -> Program:
        """Return a program that runs, by its name. Raises StopIteration if there is none."""
        return next(program for program in self._running if program.name == name)
