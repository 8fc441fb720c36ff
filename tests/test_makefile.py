"""The Makefile's targets, and what it says to a Python that is too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    # As if from a shell: the tests themselves may run below `make test`.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_is_the_default_and_names_every_target_in_80_columns() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)[0].split()
    told = make().stdout
    shown = re.findall(r"^  make (\S+) +\S", told, re.MULTILINE)
    assert sorted(shown) == sorted(phony)
    assert [line for line in told.splitlines() if len(line) > 80] == []


@pytest.mark.tools  # it starts the command line twice, for seconds
def test_the_capacity_demo_shows_what_is_short_then_the_change_and_nothing_short() -> None:
    # -o: the test's own environment is the one that make would install.
    ran = make(f"BIN={Path(sys.executable).parent}", "-o", ".venv/.installed", "capacity-demo")
    assert ran.returncode == 0, ran.stderr
    before, _, after = ran.stdout.partition("== The change is written, and all zones fail again ==")
    assert "3 failures, 3 with a workload short of its minimum" in before
    assert "+      maxSize: 3 # in each zone" in before
    assert "3 failures, 0 with a workload short of its minimum" in after


def test_a_python_that_is_too_old_is_rejected_before_anything_is_made(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.lock", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    lowest = re.search(r"--python-version (\S+)", (ROOT / "Makefile").read_text())
    assert lowest
    assert lowest[1] == "3.11.5", "requirements.lock holds from the version on that is requested"
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 || exit 1\n')
    old.chmod(0o755)
    for python, said in ((str(old), "Python 3.9.2"), ("no-such-python", "missing"), ("/bin/false", "not Python")):
        result = make("venv", f"PYTHON={python}", folder=tmp_path)
        assert result.returncode != 0
        assert said in result.stderr
        first, *rest = result.stderr.splitlines()
        assert "Python 3.11.5 or later is needed" in first
        assert all(line.startswith("make: ") for line in rest)
        assert not (tmp_path / ".venv").exists()


def test_targets_that_need_the_command_line_make_it_first() -> None:
    text = (ROOT / "Makefile").read_text()
    for rule in re.split(r"\n(?=\S)", text):
        target, _, recipe = rule.partition("\n")
        if "$(BIN)/" in recipe and not target.startswith(("$(STAMP)", "$(DEV)")):
            assert re.search(r": \$\((STAMP|DEV)\) ##", target), target
