"""A stack that the checks reject never gets as far as AWS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox import inventory, server
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


@pytest.fixture
def rejected(platform: World) -> Iterator[World]:
    """The platform with a fifth stack, in a region where nothing is, whose file is broken."""
    platform.stack_file(STACK).write_text(WORDS)
    platform.pulumi(STACK, "stack", "init", "--no-select")
    settings = platform.settings.read_bytes()
    yield platform
    platform.settings.write_bytes(settings)
    platform.pulumi(STACK, "stack", "rm", "--yes", "--preserve-config")
    platform.stack_file(STACK).unlink()


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


def test_a_fault_in_the_organisations_defaults_is_told_with_the_file_of_the_defaults(rejected: World) -> None:
    rejected.stack_file(STACK).write_text(WORDS.replace(", m7i.large", "").replace("maxsize", "maxSize"))
    text = rejected.settings.read_text()
    rejected.settings.write_text(text.replace("idleTimeoutMinutes: 15", "idleTimeoutMinutes: 90"))
    line = text[: text.index("idleTimeoutMinutes")].count("\n") + 1
    told = rejected.pulumi(STACK, "preview", expect=1).stdout
    assert f"Pulumi.yaml:{line} " in told
    assert "session.idleTimeoutMinutes" in told
    assert "Traceback" not in told


def test_a_creator_in_access_is_rejected_with_file_and_line_before_the_cluster_is_made(rejected: World) -> None:
    creator: str = rejected.aws(STACK).client("sts").get_caller_identity()["Arn"]
    listed = creator.replace(":sts:", ":iam:")
    good = WORDS.replace(", m7i.large", "").replace("maxsize", "maxSize")
    rejected.stack_file(STACK).write_text(f"{good}  multiarch-eks:access:\n    admins: [{listed}]\n")
    before = rejected.held(STACK)
    problem = f"{FILE}:12 access.admins[0]: {listed} runs Pulumi"
    assert f"warning: {problem}" in rejected.pulumi(STACK, "preview").stdout
    told = rejected.pulumi(STACK, "up", "--yes", "--skip-preview", expect=1).stdout
    rejected.pulumi(STACK, "destroy", "--yes", "--skip-preview")  # the stack itself, which the rejected up has recorded
    assert f"error: {problem}" in told
    assert "Traceback" not in told
    assert rejected.held(STACK) == before
