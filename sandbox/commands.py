"""Run our command line for a demo, and show what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from multiarch.cli.lines import count_columns
from multiarch.errors import OutsideError


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
    environ = {**(environ or os.environ), "COLUMNS": str(count_columns(sys.stdout))}
    done = subprocess.run(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    show(done.stdout)
    if done.returncode != wanted:
        raise OutsideError(f"multiarch {arguments[0]} ended with exit code {done.returncode}, not {wanted}.")
    return done.stdout
