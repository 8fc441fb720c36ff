"""What ``stack new --from-cluster`` writes for clusters of other tools: up, unchanged, down, and they are as before.

The console's is in tests/real_nodes/test_guide.py, eksctl's in test_existing_demo.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.existing import console, terraform
from sandbox.existing.account import Account
from sandbox.existing_demo import describe
from tests.e2e.conftest import watched
from tests.e2e.world import World

pytestmark = pytest.mark.e2e
SHAPES = {"search-dev": terraform.create_cluster, "auto-dev": console.create_auto_mode_cluster}
REGION = "eu-central-1"
FIRST = f"config:\n  aws:region: {REGION}\n"


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One AWS for the clusters of all tools."""
    with watched(tmp_path_factory.mktemp("account") / "clone") as made:
        yield made


@pytest.mark.parametrize("name", SHAPES)
def test_a_written_stack_comes_up_and_leaves_the_cluster_as_it_was(account: World, name: str) -> None:
    world = account
    file = world.stack_file(name)
    file.write_text(FIRST)
    world.sandbox("vpc", name)  # starts AWS, and makes the stack
    aws = world.aws(name)
    SHAPES[name](Account(aws.client), name)
    before, held = describe(aws, name), world.held(name)
    file.unlink()
    world.multiarch(name, "stack", "new", "--from-cluster", name, "--region", REGION)
    world.multiarch(name, "stack", "pin", name)
    world.up(name)
    assert world.preview(name) == []
    world.pulumi(name, "destroy", "--yes", "--skip-preview")
    assert describe(aws, name) == before
    assert world.held(name) == held
