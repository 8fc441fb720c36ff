"""What ``stack new --from-cluster`` writes for clusters of other tools: up, unchanged, down, and they are as before."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.existing import console, eksctl, terraform
from sandbox.existing.account import Account
from sandbox.inventory import Aws
from tests.e2e.world import World

pytestmark = pytest.mark.e2e
SHAPES = {
    "shop-dev": eksctl.create_cluster,
    "search-dev": terraform.create_cluster,
    "blog-dev": console.create_cluster,
    "auto-dev": console.create_auto_mode_cluster,
}
REGION = "eu-central-1"
FIRST = f"config:\n  aws:region: {REGION}\n"


def describe(aws: Aws, name: str) -> dict[str, Any]:
    """The cluster with its groups and add-ons, and the Auto Scaling Groups that are not the stack's."""
    eks = aws.client("eks")
    names = eks.list_nodegroups(clusterName=name)["nodegroups"]
    scaling = aws.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    return {
        "cluster": eks.describe_cluster(name=name)["cluster"],
        "groups": [eks.describe_nodegroup(clusterName=name, nodegroupName=each)["nodegroup"] for each in names],
        "addons": eks.list_addons(clusterName=name)["addons"],
        "scaling": sorted(each["AutoScalingGroupName"] for each in scaling),
    }


@pytest.mark.parametrize("name", SHAPES)
def test_a_written_stack_comes_up_and_leaves_the_cluster_as_it_was(world: World, name: str) -> None:
    file = world.stack_file(name)
    file.write_text(FIRST)
    world.sandbox("vpc", name)  # starts AWS
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
