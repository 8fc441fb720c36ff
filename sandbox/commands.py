"""Run our command line for a demo, and show what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from multiarch.cli import lines
from multiarch.errors import OutsideError


def make_runnable(text: str) -> str:
    """Name our command as a shell in this folder finds it."""
    program = Path(sys.executable).with_name("multiarch")
    return lines.make_runnable(text, program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)


def run_multiarch(
    arguments: Sequence[str],
    folder: Path,
    show: Callable[[str], None],
    *,
    environ: Mapping[str, str] | None = None,
    wanted: int = 0,
) -> str:
    """Run ``multiarch ARGUMENTS`` in ``folder``; show the command and what it prints, and return the latter.

    Raises OutsideError if it ends with another exit code than ``wanted``.
    """
    show(f"$ multiarch {' '.join(arguments)}")
    command = [sys.executable, "-m", "multiarch.cli", *arguments]
    # It writes to a pipe, and we to the reader's terminal.
    room = lines.count_columns(sys.stdout)
    environ = {**(environ or os.environ), "COLUMNS": str(room)}
    done = subprocess.run(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    text = make_runnable(done.stdout)
    if sys.stdout.isatty():
        # A message begins with a word, and is one line in a pipe; everything else is as wide as COLUMNS.
        long = re.compile(rf"^\w.{{{room},}}$", re.MULTILINE)
        text = long.sub(lambda line: "\n".join(lines.wrap_lines(line[0], room, others="  ")), text)
    show(text)
    if done.returncode != wanted:
        raise OutsideError(f"multiarch {arguments[0]} ended with exit code {done.returncode}, not {wanted}.")
    return done.stdout
