"""Programs within bounds: what they print, how long they take, and what they leave behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from multiarch.program import OutputLimitError, TimeLimitError, run_program

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def sh(script: str, *, seconds: float | None = 20, limit: int = 1000) -> tuple[int, bytes, bytes]:
    done = run_program(["/bin/sh", "-c", script], ENVIRONMENT, seconds=seconds, limit=limit)
    return done.code, done.output, done.errors


def test_output_errors_and_exit_code_come_back() -> None:
    assert sh("echo out; echo err >&2; exit 3") == (3, b"out\n", b"err\n")


def test_standard_input_is_empty() -> None:
    assert sh("cat") == (0, b"", b"")


def test_too_much_output_ends_it_with_its_children(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(OutputLimitError):
        sh(f"(sleep 30; touch {tmp_path}/late) & echo $! >{tmp_path}/child; yes")
    assert time.monotonic() - began < 10
    assert _ended(int((tmp_path / "child").read_text()))


def test_of_errors_the_end_is_kept() -> None:
    code, output, errors = sh("i=0; while [ $i -lt 500 ]; do echo line $i >&2; i=$((i+1)); done")
    assert (code, output) == (0, b"")
    assert len(errors) == 1000
    assert errors.endswith(b"line 499\n")


@pytest.mark.parametrize("script", ["sleep 30 & echo $! >child; wait", "sleep 30 & echo $! >child"])
def test_too_much_time_ends_it_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    with pytest.raises(TimeLimitError):
        sh(script, seconds=0.5)
    assert time.monotonic() - began < 10
    assert _ended(int((tmp_path / "child").read_text()))


def test_closed_streams_do_not_lift_the_time_limit() -> None:
    with pytest.raises(TimeLimitError):
        sh("exec >&- 2>&-; exec sleep 30", seconds=0.5)


def test_without_a_time_limit_it_has_the_terminals_streams(capfd: pytest.CaptureFixture[str]) -> None:
    assert sh("echo asked >&2; echo out", seconds=None) == (0, b"out\n", b"")
    assert capfd.readouterr().err == "asked\n"
    with pytest.raises(OutputLimitError):
        sh("yes", seconds=None)


def test_what_no_program_can_be_given_is_a_value_error() -> None:
    odd: list[tuple[list[str], dict[str, str]]] = [(["a\0b"], {}), ([], {"a=b": ""}), (["\ud800"], {})]
    for arguments, environment in odd:
        with pytest.raises(ValueError, match=r"null byte|environment variable name|surrogates"):
            run_program(["/bin/true", *arguments], environment, seconds=1, limit=1)


def _ended(process: int) -> bool:
    """Whether a process is gone, within a moment; a killed one may wait for its new parent as a zombie."""
    assert sys.platform == "linux"
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
