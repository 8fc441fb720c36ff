"""The workflows pass the linters that others use: actionlint, zizmor, and the published schema."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quotations import ROOT, blocks
from tools import build
from tools.generate.documents import WORKFLOWS

SCRIPTS = Path(sys.executable).parent
FILES = sorted(map(str, WORKFLOWS.iterdir()))


def check(*command: str | Path, **variables: str) -> None:
    environ = os.environ | variables
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.tools
def test_actionlint_and_the_published_schemas_find_nothing() -> None:
    dependabot = ROOT / ".github" / "dependabot.yml"
    for schema, files in (("github-workflows", FILES), ("dependabot", [dependabot])):
        check(SCRIPTS / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)
    shellcheck = build.ensure("shellcheck")
    libraries = {"LD_LIBRARY_PATH": str(shellcheck.parent)}
    check(build.ensure("actionlint"), "-shellcheck", shellcheck, "-pyflakes=", *FILES, **libraries)


def test_zizmor_finds_nothing_even_in_its_strictest_mode() -> None:
    own = ROOT / ".github"
    check(SCRIPTS / "zizmor", "--offline", "--no-progress", "--persona=auditor", "--config", own / "zizmor.yml", own)


BLOCKS = [
    block.text
    for block in blocks(ROOT / "docs" / "ci.md")
    if block.language == "yaml" and ".github/workflows/" in block.text
]


@pytest.mark.tools
@pytest.mark.parametrize("text", BLOCKS, ids=range(len(BLOCKS)))
def test_the_workflows_that_the_documentation_shows_call_the_reusable_ones_rightly(text: str, tmp_path: Path) -> None:
    folder = tmp_path / ".github" / "workflows"
    shutil.copytree(WORKFLOWS, folder)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    shown = folder / "shown.yml"
    # As a call within the repository, of which actionlint knows the inputs.
    shown.write_text(re.sub(r"example/multiarch-eks/(\S+)@[0-9a-f]{40}", r"./\1", text), encoding="utf-8")
    check(build.ensure("actionlint"), "-shellcheck=", "-pyflakes=", shown)
    check(SCRIPTS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", shown)
