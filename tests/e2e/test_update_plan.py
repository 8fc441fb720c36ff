"""An update that follows the plan of a reviewed preview: what the engine holds it to."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.e2e import aws as held
from tests.e2e.world import World, done

pytestmark = pytest.mark.e2e
STACK = "checkout-dev"
GRAVITON = "aws:eks/nodeGroup:NodeGroup graviton"


def test_an_update_does_what_its_plan_has_and_fails_where_it_would_do_more(platform: World, tmp_path: Path) -> None:
    aws, cluster = platform.aws(STACK), platform.plan(STACK).cluster.name
    before, plan = platform.stack_file(STACK).read_bytes(), tmp_path / "plan.json"
    sizes = held.managed_group(aws, cluster, "general")["scalingConfig"]
    follow = ("up", "--yes", "--skip-preview", "--json", "--plan", str(plan))
    platform.edit(STACK, "nodeGroups", "graviton", "maxSize", value=9)
    reviewed = platform.stack_file(STACK).read_bytes()
    platform.pulumi(STACK, "preview", "--save-plan", str(plan))
    try:
        # What the plan does not have: another value, and a deletion.
        platform.edit(STACK, "nodeGroups", "general", "maxSize", value=8)
        said = platform.pulumi(STACK, *follow, expect=1)
        assert "NodeGroup::general violates plan: properties changed" in said.errors()
        assert held.managed_group(aws, cluster, "general")["scalingConfig"] == sizes
        platform.stack_file(STACK).write_bytes(reviewed)
        platform.edit(STACK, "addons", "ebsCsi", value={"enabled": False})
        said = platform.pulumi(STACK, *follow, expect=1)
        assert "violates plan" in said.errors()
        assert "aws-ebs-csi-driver" in aws.client("eks").list_addons(clusterName=cluster)["addons"]
        # The engine keeps the number of nodes that an autoscaler has set, which is not the plan's.
        platform.stack_file(STACK).write_bytes(reviewed)
        group = held.managed_group(aws, cluster, "graviton")
        set_nodes = partial(
            aws.client("eks").update_nodegroup_config, clusterName=cluster, nodegroupName=group["nodegroupName"]
        )
        set_nodes(scalingConfig={"desiredSize": group["scalingConfig"]["desiredSize"] + 1})
        said = platform.pulumi(STACK, *follow, expect=1)
        assert "NodeGroup::graviton violates plan: properties changed" in said.errors()
        set_nodes(scalingConfig={"desiredSize": group["scalingConfig"]["desiredSize"]})
        finished = {(step.op, step.what) for step in done(platform.pulumi(STACK, *follow))}
        assert finished <= {("update", GRAVITON)}
        assert held.managed_group(aws, cluster, "graviton")["scalingConfig"]["maxSize"] == 9
    finally:
        platform.stack_file(STACK).write_bytes(before)
        platform.up(STACK)
