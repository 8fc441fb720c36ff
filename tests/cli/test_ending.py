"""How a process of the command line ends when its output has no place to go, or somebody interrupts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: app, image: app}]}
"""
PATCH = ("workload", "patch", "pod.yaml", "--tolerate", "arm64")
WAIT = 60.0


@pytest.fixture(autouse=True)
def _a_pod(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)


@contextmanager
def started(folder: Path, *arguments: str, out: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "multiarch.cli", *arguments]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_reader_that_has_gone_is_not_a_finding(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with started(tmp_path, *PATCH, out=writing) as process:
            _, said = process.communicate(timeout=WAIT)
    finally:
        os.close(writing)
    assert process.returncode == 141
    assert "1 to change" in said
    assert "Error" not in said


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full, started(tmp_path, *PATCH, out=full.fileno()) as process:
        _, said = process.communicate(timeout=WAIT)
    assert process.returncode == 3
    assert said.splitlines()[-1] == "error: the output can't be written: No space left on device."
    assert "Traceback" not in said


def test_ctrl_c_while_a_registry_is_silent_ends_at_once_and_says_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        image = f"127.0.0.1:{silent.getsockname()[1]}/app"
        silent.settimeout(WAIT)
        with started(tmp_path, "image", "inspect", image) as process:
            asked, _ = silent.accept()
            with asked:
                assert asked.recv(16).startswith(b"GET /v2/")
                process.send_signal(signal.SIGINT)
                out, said = process.communicate(timeout=WAIT)
    assert (process.returncode, out, said) == (130, "", "")
