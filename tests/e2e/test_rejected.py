"""A stack that the checks reject never gets as far as AWS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox import backend, inventory, server
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
