"""From nothing to a running stack with the commands of the README, on the file as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox import environment, state
from sandbox.layout import CLONE
from tests.e2e.world import TIMEOUT, World

pytestmark = pytest.mark.e2e
STACK = "search-dev"
IN_A_VPC = "ledger-staging"


def multiarch(world: World, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    """Run the command line that is installed beside this Python, in the project's folder."""
    command = [str(Path(sys.prefix) / "bin" / "multiarch"), *arguments]
    result = subprocess.run(
        command, cwd=world.root, env=environ, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert result.returncode == 0, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def spoken(world: World) -> Mapping[str, str]:
    """The environment in which AWS is the sandbox's: what `python -m sandbox env` prints."""
    known = state.load(world.layout)
    assert known.engine is not None
    return environment.build(world.layout, known.engine, world.server.url, STACK, os.environ).applied_to(os.environ)


def test_a_new_stack_is_valid_renders_comes_up_can_be_pinned_and_goes_down(world: World) -> None:
    multiarch(world, "stack", "new", "--team", "search", "--env", "dev")
    written = world.stack_file(STACK).read_bytes()
    multiarch(world, "stack", "check", STACK)
    multiarch(world, "stack", "render", STACK)
    rendered = [file for file in (world.root / "build" / STACK).rglob("*") if file.is_file()]
    assert rendered != []

    world.sandbox("up", STACK)
    assert world.sandbox("preview", STACK, "--expect-no-changes").returncode == 0
    plan = world.plan(STACK)
    assert {name: len(ids) for name, ids in world.instance_ids(STACK).items()} == {
        group.name: group.sizes.desired for group in plan.node_groups
    }
    assert sorted(str(group.architecture) for group in plan.node_groups) == ["amd64", "arm64"]
    assert world.stack_file(STACK).read_bytes() == written

    # What is pinned is what runs: nothing changes, today or when AWS publishes the next release.
    multiarch(world, "stack", "pin", STACK, environ=spoken(world))
    assert all(group.ami.pinned for group in world.plan(STACK).node_groups)
    assert world.preview(STACK) == []

    # Another one goes into a VPC that is there before it.
    text = (CLONE / "examples" / "04-existing-vpc" / f"Pulumi.{IN_A_VPC}.yaml").read_text(encoding="utf-8")
    world.stack_file(IN_A_VPC).write_text(text, encoding="utf-8")
    made = world.sandbox("vpc", IN_A_VPC).stdout
    text, changes = re.subn(r"  multiarch-eks:network:\n(?:    .*\n)+", made, text)
    assert changes == 1
    world.stack_file(IN_A_VPC).write_text(text, encoding="utf-8")
    previewed = {step.what for step in world.preview(IN_A_VPC) if step.op == "create"}
    assert "aws:eks/cluster:Cluster cluster-eksCluster" in previewed
    assert not {what for what in previewed if what.startswith(("aws:ec2/vpc:", "aws:ec2/subnet:"))}

    assert "nothing is left" in world.sandbox("down").stderr
    assert world.processes() == {}
