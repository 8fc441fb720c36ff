"""Programs that stand in for those that the scripts run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ci.scripts import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Writes a shell script that stands in for a program, into ``bin``."""
    (tmp_path / "bin").mkdir()

    def write(name: str, text: str) -> Path:
        file = tmp_path / "bin" / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    return write
