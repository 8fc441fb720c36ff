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

from multiarch.cli import main

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: app, image: app}]}
"""
PATCH = ("workload", "patch", "pod.yaml", "--tolerate", "arm64")
WAIT = 60.0


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
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


def in_shell(folder: Path, redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = f'exec "$@" {redirection}'
    words = [sys.executable, "-m", "multiarch.cli", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "SOURCE_DATE_EPOCH": "1795219200"}
    return subprocess.run(
        ["sh", "-c", command, "sh", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )


CLONE = Path(__file__).parents[2]
CHECK = ("stack", "check", "config/stacks/Pulumi.checkout-dev.yaml")


@pytest.mark.parametrize(
    ("redirection", "arguments", "code"),
    [
        ("2>&-", CHECK, 0),
        ("2>/dev/full", CHECK, 0),
        ("<&-", CHECK, 0),
        (">&-", CHECK, 3),
        (">/dev/full", CHECK, 3),
        (">&- 2>&-", CHECK, 3),
        ("<&- >&- 2>&-", CHECK, 3),
        (">/dev/full 2>/dev/full", CHECK, 3),
        (">/dev/full", ("--help",), 3),
        (">/dev/full", ("--version",), 3),
        (">/dev/full", (*CHECK, "-o", "json"), 3),
        (">&-", (*CHECK, "-o", "json"), 3),
        ("2>&-", ("stack", "check", "nowhere"), 2),
        ("2>/dev/full", ("stack", "check", "nowhere"), 2),
        ("2>&-", ("stack", "chekc"), 2),
        ("2>/dev/full", ("stack", "chekc"), 2),
        ("<&-", ("audit", "images", "-"), 2),
        ("<&-", ("workload", "patch", "-", "--tolerate", "arm64"), 2),
    ],
)
def test_a_stream_that_is_closed_or_full_never_ends_in_a_traceback(
    redirection: str, arguments: tuple[str, ...], code: int
) -> None:
    ran = in_shell(CLONE, redirection, *arguments)
    assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
    if code == 3 and "2>" not in redirection:
        why = "stdout is closed" if ">&-" in redirection else "No space left on device"
        assert ran.stderr.splitlines()[-1] == f"error: the output can't be written: {why}."


def test_a_file_never_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    ran = in_shell(tmp_path, ">&-", *PATCH, "--in-place")
    assert ran.returncode == 0, ran.stderr
    assert "tolerations" in (tmp_path / "pod.yaml").read_text()


def test_a_nul_in_an_argument_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stack", "check", "a\0b"]) == 2
    assert capsys.readouterr().err == "error: The argument 'a\\x00b' contains a NUL character.\n"


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
