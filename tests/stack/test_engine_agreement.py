"""What the loader makes of the files is what the real Pulumi engine makes of them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from multiarch.stack.engine_config import read_project_layer, read_stack_layer
from multiarch.stack.yaml_source import read_yaml_file
from tools import build

pytestmark = pytest.mark.e2e

PROJECT = """\
name: multiarch-eks
runtime: python
stackConfigDir: config/stacks
config:
  aws:region: {value: eu-west-1}
  multiarch-eks:defaults:
    value:
      tags: {a: 1, b: 1.30, c: true, d: null, e: 1.0, f: yes, g: [1, null]}
  short: 17
  list: [a]
  typed: {type: integer, default: 3}
  multiarch-eks:full: {default: {a: b}}
  bare: {value: abc}
  overridden: {value: project}
  undefined: {type: string}
"""
STACK = """\
config:
  flag: true
  version: 1.30
  number: 4711
  yes: yes
  hex: 0x10
  exponent: 1e3
  large: 1.5e+300
  whole: 1.0
  quoted: "007"
  underscore: 1_000
  binary: 0b101
  octal: 0o17
  fraction: 1_0.5
  plus: +12
  huge: 99999999999999999999999
  largest: 18446744073709551615
  clock: 22:22
  month: 2026-01
  letter: y
  hexless: 0x_
  equals: =
  tagged: !!str 3
  lowest: -9999999999999999999
  nothing:
  tilde: ~
  text: |
    a
    b
  multiarch-eks:object: {a: 1, b: null, c: [1.30, null], d: "x", e: {f: 2.0}}
  multiarch-eks:config:legacy: dev
  overridden: stack
  empty: {}
  anchor: &anchor {k: 1}
  alias: *anchor
  merged: {<<: *anchor, l: 2}
  aws:profile: other
"""


@pytest.fixture(scope="module")
def engine_values(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """The project's folder, and the values of our namespace as ``pulumi config`` tells them."""
    root = tmp_path_factory.mktemp("engine")
    file = root / "config" / "stacks" / "Pulumi.shop-dev.yaml"
    (root / "state").mkdir()
    file.parent.mkdir(parents=True)
    (root / "Pulumi.yaml").write_text(PROJECT)
    file.write_text("config: {}\n")
    pulumi = build.ensure("pulumi")
    environment = {
        "HOME": str(root),
        "PATH": os.environ["PATH"],
        "PULUMI_BACKEND_URL": f"file://{root / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_HOME": str(root / "home"),
        "PULUMI_SKIP_UPDATE_CHECK": "1",
    }

    def run(*arguments: str) -> str:
        command = [str(pulumi), "--non-interactive", *arguments]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("stack", "init", "shop-dev")
    file.write_text(STACK)
    answer = json.loads(run("config", "--json", "--stack", "shop-dev"))
    values = {
        key.removeprefix("multiarch-eks:"): value.get("objectValue", value["value"])
        for key, value in answer.items()
        if key.startswith("multiarch-eks:")
    }
    return root, values


def test_every_value_is_the_engines(engine_values: tuple[Path, dict[str, object]]) -> None:
    root, values = engine_values
    project = read_project_layer(read_yaml_file(root / "Pulumi.yaml"))
    stack = read_stack_layer(read_yaml_file(root / "config" / "stacks" / "Pulumi.shop-dev.yaml"))
    assert project.problems + stack.problems == []
    assert project.values | stack.values == values
    assert len(values) == 39
