"""What ``stack new --from-cluster`` writes for clusters of other tools: up, unchanged, down, and they are as before.

The console's is in tests/real_nodes/test_guide.py.
"""

from __future__ import annotations

import pytest

from sandbox.existing import Tool
from sandbox.existing.account import Account
from sandbox.existing_demo import SHAPES, describe
from tests.e2e.world import World

pytestmark = pytest.mark.e2e
NAMES = {
    "shop-dev": Tool.EKSCTL,
    "search-dev": Tool.TERRAFORM,
    "auto-dev": Tool.AUTO_MODE,
}
REGION = "eu-central-1"
FIRST = f"config:\n  aws:region: {REGION}\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_written_stack_comes_up_and_leaves_the_cluster_as_it_was(world: World, name: str) -> None:
    file = world.stack_file(name)
    file.write_text(FIRST)
    world.sandbox("vpc", name)  # starts AWS
    aws = world.aws(name)
    SHAPES[NAMES[name]](Account(aws.client), name)
    before, held = describe(aws, name), world.held(name)
    file.unlink()
    world.multiarch(name, "stack", "new", "--from-cluster", name, "--region", REGION)
    world.multiarch(name, "stack", "pin", name)
    world.up(name)
    assert world.preview(name) == []
    world.pulumi(name, "destroy", "--yes", "--skip-preview")
    assert describe(aws, name) == before
    assert world.held(name) == held
