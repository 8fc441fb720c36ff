"""How tests run the scripts of ``ci/scripts``: a folder's ``bin`` is first on PATH."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.quotations import ROOT

SCRIPTS: Final = ROOT / "ci" / "scripts"
Program = Callable[[str, str], Path]
"""Writes a shell script that stands in for a program."""


def run(folder: Path, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPTS / script, *arguments], cwd=folder, env=environment(folder, **variables), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def environment(folder: Path, **variables: str) -> dict[str, str]:
    own = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder), "CREDENTIALS_DIR": f"{folder}/secret"}
    return own | variables
