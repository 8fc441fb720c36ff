"""A stack that the checks reject never gets as far as AWS."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox import backend, environment, inventory, server
from sandbox.environment import Environment
from sandbox.layout import Layout
from sandbox.state import Engine
from tests.e2e.world import World

pytestmark = pytest.mark.e2e
STACK = "shop-dev"
WORDS = """\
config:
  aws:region: ca-central-1
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "1"
  multiarch-eks:nodeGroups:
    api:
      instanceTypes: [m7g.large, m7i.large]
      maxsize: 4
"""
FILE = f"config/stacks/Pulumi.{STACK}.yaml"


@pytest.fixture(scope="module")
def four(platform: World) -> Iterator[World]:
    """The platform, which has its own stacks alone again after the tests of this file."""
    yield platform
    if STACK in backend.stacks(platform.layout):  # with the stack itself, which an up that is rejected records
        platform.pulumi(STACK, "stack", "rm", "--yes", "--force", "--preserve-config")
    platform.stack_file(STACK).unlink(missing_ok=True)


@pytest.fixture
def rejected(four: World) -> World:
    """The platform with a fifth stack, in a region where nothing is, whose file is broken."""
    four.stack_file(STACK).write_text(WORDS)
    if STACK not in backend.stacks(four.layout):
        four.pulumi(STACK, "stack", "init", "--no-select")
    return four


def test_a_preview_and_an_up_fail_with_file_and_line_and_nothing_else_and_the_sandbox_stays_up(rejected: World) -> None:
    before = rejected.held(STACK)
    for command in ("preview", "up"):
        said = rejected.sandbox(command, STACK, expect=2)
        assert said.stdout == ""
        (line,) = said.stderr.splitlines()
        assert f"{FILE}:10 nodeGroups.api.maxsize: " in line
        assert "maxSize" in line
    assert rejected.held(STACK) == before
    assert set(before) <= inventory.EVERYWHERE
    assert server.answers(rejected.server)


def test_pulumi_by_hand_fails_with_file_and_line_and_without_a_traceback(rejected: World) -> None:
    rejected.stack_file(STACK).write_text(WORDS.replace("maxsize", "maxSize"))
    by_hand = rejected.pulumi(STACK, "preview", expect=1)
    told = by_hand.stdout + by_hand.stderr
    assert f"{FILE}:9 nodeGroups.api.instanceTypes: " in told
    assert "m7g.large is arm64 and m7i.large is amd64" in told
    assert "Traceback" not in told


def test_values_that_the_cluster_keeps_are_rejected_before_the_first_change(platform: World) -> None:
    stack, file = "checkout-dev", platform.stack_file("checkout-dev")
    words, before = file.read_bytes(), platform.held("checkout-dev")
    kept = {
        ("network", "cidr"): ("10.99.0.0/16", "10.20.0.0/16"),
        ("network", "serviceCidr"): ("10.100.0.0/16", "172.20.0.0/16"),
        ("secretsEncryption", "enabled"): (False, "true"),
    }
    for path, (value, _) in kept.items():
        platform.edit(stack, *path, value=value)
    try:
        # A preview goes the same way.
        told = platform.pulumi(stack, "up", "--yes", "--skip-preview", expect=1).stdout
    finally:
        file.write_bytes(words)
    lines = [each for each in told.splitlines() if "[fixed-value]" in each]
    for path, (value, there) in kept.items():
        line = next(each for each in lines if f" {'.'.join(path)}: " in each)
        assert f"config/stacks/Pulumi.{stack}.yaml:" in line
        assert f"{value}".lower() in line
        assert f"Write {there}" in line
    assert "Traceback" not in told
    assert platform.held(stack) == before


def test_a_log_group_that_a_destroyed_cluster_left_is_found_before_the_run_and_the_command_mends_it(
    rejected: World,
) -> None:
    rejected.stack_file(STACK).write_text(WORDS.replace(", m7i.large", "").replace("maxsize", "maxSize"))
    logs, name = rejected.aws(STACK).client("logs"), f"/aws/eks/{STACK}/cluster"
    logs.create_log_group(logGroupName=name)
    try:
        told = rejected.pulumi(STACK, "preview", expect=1).stdout
    finally:
        logs.delete_log_group(logGroupName=name)
    assert f"{FILE}" in told
    assert f"`aws logs delete-log-group --log-group-name {name} --region ca-central-1`. [log-group-exists]" in told
    rejected.pulumi(STACK, "preview")


def test_without_the_aws_cli_a_preview_ends_with_one_line_and_nothing_is_declared(
    rejected: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The PATH of engine and plugins has Python and what the system has, and no program called aws."""
    rejected.stack_file(STACK).write_text(WORDS.replace(", m7i.large", "").replace("maxsize", "maxSize"))
    for name in ("python", "python3"):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (tmp_path / name).chmod(0o755)
    build = environment.build

    def without(layout: Layout, engine: Engine, *others: Any) -> Environment:
        path = os.pathsep.join(map(str, (tmp_path, engine.path.parent, "/usr/bin", "/bin")))
        made = build(layout, engine, *others)
        return replace(made, set={**made.set, "PATH": path})

    monkeypatch.setattr(environment, "build", without)
    told = json.loads(rejected.pulumi(STACK, "preview", "--json", expect=1).stdout)
    assert [step["urn"] for step in told["steps"] if "::pulumi:pulumi:Stack::" not in step["urn"]] == []
    (line,) = (row["message"] for row in told["diagnostics"] if "aws" in row["message"])
    assert "The program `aws` is not on PATH" in line
    assert "Install the AWS CLI: " in line
