"""The workflows pass the linters that others use: actionlint, zizmor, and the published schema."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.github.runner import WORKFLOWS
from tests.quotations import ROOT
from tools import build

FILES = sorted(map(str, WORKFLOWS.iterdir()))


def check(*command: str | Path, **variables: str) -> None:
    environ = os.environ | variables
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.tools
def test_actionlint_finds_nothing() -> None:
    shellcheck = build.ensure("shellcheck")
    libraries = {"LD_LIBRARY_PATH": str(shellcheck.parent)}
    check(build.ensure("actionlint"), "-shellcheck", shellcheck, "-pyflakes=", *FILES, **libraries)


def test_zizmor_finds_nothing_even_in_its_strictest_mode() -> None:
    zizmor = Path(sys.executable).parent / "zizmor"
    check(
        zizmor,
        "--offline",
        "--no-progress",
        "--persona",
        "auditor",
        "--config",
        ROOT / ".github" / "zizmor.yml",
        ROOT / ".github",
    )


@pytest.mark.parametrize(
    ("schema", "files"),
    [("vendor.github-workflows", FILES), ("vendor.dependabot", [str(ROOT / ".github" / "dependabot.yml")])],
)
def test_the_published_schema_accepts_them(schema: str, files: list[str]) -> None:
    checker = Path(sys.executable).parent / "check-jsonschema"
    check(checker, "--builtin-schema", schema, *files)
