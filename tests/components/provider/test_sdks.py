"""Programs in other languages: Pulumi's own generators accept the schema, and a Go program compiles with its SDK."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.quotations import ROOT
from tools import build
from tools.generate.plugin import SCHEMA

pytestmark = pytest.mark.tools
PAGE = (ROOT / "docs" / "how-to" / "own-program.md").read_text(encoding="utf-8")
MODULE = build.TOOLS / "pulumi-sdk"
FLAGS = ("-trimpath", "-tags", build.TOOLS_BY_NAME["pulumi-sdk"].tags)
"""Those of tools/build.py, so that what Go has compiled for the tools is not compiled again."""


def run(*command: str | Path, folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"CGO_ENABLED": "0"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_go_program_of_the_page_compiles_with_the_generated_sdk(tmp_path: Path) -> None:
    run(build.ensure("pulumi-sdk"), "go", SCHEMA, "made", folder=tmp_path)
    program = re.search(r"```go\n(.*?)```", PAGE, re.DOTALL)
    assert program
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "main.go").write_text(program[1], encoding="utf-8")
    # What the generator calls its module, with the versions of the tool.
    (tmp_path / "go").mkdir()
    (tmp_path / "made" / "multiarcheks").rename(tmp_path / "go" / "multiarch-eks")
    settings = (MODULE / "go.mod").read_text(encoding="utf-8")
    own = settings.replace("module multiarch-eks/tools/pulumi-sdk", "module example.com/pulumi-multiarch-eks/sdk")
    (tmp_path / "go.mod").write_text(own, encoding="utf-8")
    shutil.copy(MODULE / "go.sum", tmp_path)
    run("go", "build", *FLAGS, "-o", os.devnull, "./program", folder=tmp_path)


def test_a_typescript_program_gets_each_component_with_typed_arguments(tmp_path: Path) -> None:
    run(build.ensure("pulumi-sdk"), "nodejs", SCHEMA, "made", folder=tmp_path)
    platform = (tmp_path / "made" / "platform.ts").read_text(encoding="utf-8")
    assert "export class Platform extends pulumi.ComponentResource" in platform
    assert "costCenter: string;" in platform
    assert "nodeGroups?: {[key: string]: inputs.NodeGroupSettingsArgs};" in platform
    assert "readonly kubeconfig: pulumi.Output<string>;" in platform
    settings = (tmp_path / "made" / "types" / "input.ts").read_text(encoding="utf-8")
    assert "instanceTypes: string[];" in settings
