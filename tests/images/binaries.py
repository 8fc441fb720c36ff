"""Real programs for other processors: one of three lines, built by Go for each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tools import build

_PROGRAM = 'package main\n\nfunc main() { println("hello") }\n'
TARGETS = (
    "linux/amd64",
    "linux/arm64",
    "linux/arm",
    "linux/riscv64",
    "linux/386",
    "windows/amd64",
)


@cache
def program(target: str) -> bytes:
    """The program for ``OS/ARCHITECTURE``, stripped. Raises BuildError where Go is missing or says no."""
    assert target in TARGETS, target
    if shutil.which("go") is None:
        raise build.BuildError(build.GO_MISSING.format(names="programs for other processors"))
    system, _, architecture = target.partition("/")
    with TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "main.go").write_text(_PROGRAM)
        (folder / "go.mod").write_text("module hello\n\ngo 1.26\n")
        done = subprocess.run(
            ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "hello", "."],
            cwd=folder,
            env=os.environ | {"GOOS": system, "GOARCH": architecture, "CGO_ENABLED": "0", "GOWORK": "off"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise build.BuildError(done.stderr)
        return (folder / "hello").read_bytes()


def programs() -> Mapping[str, bytes]:
    """All of them, by target."""
    return {target: program(target) for target in TARGETS}
