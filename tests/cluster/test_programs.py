"""Nothing of a test cluster outlives its tests, however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import processes
from sandbox.cluster.programs import wait_for
from sandbox.layout import CLONE

OWNER = """
import sys, time
from sandbox.cluster.programs import Programs
with Programs.running() as programs:
    # A shell that starts another program: both are of the session.
    shell = programs.start("shell", ["sh", "-c", "sleep 600 & echo $! ; wait"])
    time.sleep(0.3)
    print(programs.folder, shell.process.pid, shell.log.read_text().strip(), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: number.name)
def test_programs_and_folder_are_gone_when_their_owner_is(number: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=CLONE,
        env=os.environ | {"PYTHONPATH": str(CLONE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert owner.stdout is not None
    with owner.stdout:
        folder, *pids = owner.stdout.readline().rsplit(maxsplit=2)
    assert all(processes.is_running(int(pid)) for pid in pids)
    assert Path(folder).is_dir()
    owner.send_signal(number)
    owner.wait(timeout=20)

    def gone() -> bool:
        return not Path(folder).exists() and not any(processes.is_running(int(pid)) for pid in pids)

    assert wait_for(gone, "programs to end", timeout=20)
