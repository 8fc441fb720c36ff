"""An update that follows the plan of a reviewed preview: what the engine holds it to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e import aws as held
from tests.e2e.world import World, done
from tests.quotations import ROOT

pytestmark = pytest.mark.e2e
STACK = "checkout-dev"
GRAVITON = "aws:eks/nodeGroup:NodeGroup graviton"


def test_an_update_does_what_its_plan_has_and_fails_where_it_would_do_more(platform: World, tmp_path: Path) -> None:
    aws, cluster = platform.aws(STACK), platform.plan(STACK).cluster.name
    plan = tmp_path / "plan.json"
    groups = {name: held.managed_group(aws, cluster, name) for name in ("general", "graviton")}
    nodes = {name: group["scalingConfig"]["desiredSize"] for name, group in groups.items()}
    follow = ("up", "--yes", "--skip-preview", "--json", "--plan", str(plan))
    # Other tests of the shared world may have left any sizes.
    most = groups["graviton"]["scalingConfig"]["maxSize"] + 1
    with platform.restoring(STACK):
        platform.edit(STACK, "nodeGroups", "graviton", "maxSize", value=most)
        reviewed = platform.stack_file(STACK).read_bytes()
        platform.pulumi(STACK, "preview", "--save-plan", str(plan))
        try:
            # What the plan does not have: a deletion. For another value see below.
            platform.edit(STACK, "addons", "ebsCsi", value={"enabled": False})
            said = platform.pulumi(STACK, *follow, expect=1)
            assert "violates plan" in said.errors()
            assert "aws-ebs-csi-driver" in aws.client("eks").list_addons(clusterName=cluster)["addons"]
            # An autoscaler changes the numbers of nodes: of a group that the plan has, and of one that it has not.
            platform.stack_file(STACK).write_bytes(reviewed)
            for name, number in nodes.items():
                held.set_nodes(aws, cluster, name, number + 1)
            said = platform.pulumi(STACK, *follow, expect=1)
            assert "NodeGroup::graviton violates plan: properties changed" in said.errors()
            subprocess.run([sys.executable, ROOT / "ci" / "scripts" / "ignored_changes.py", plan], check=True)
            finished = {(step.op, step.what) for step in done(platform.pulumi(STACK, *follow))}
            assert finished <= {("update", GRAVITON)}
            after = {name: held.managed_group(aws, cluster, name)["scalingConfig"] for name in nodes}
            assert {name: each["desiredSize"] - 1 for name, each in after.items()} == nodes
            assert after["graviton"]["maxSize"] == most
        finally:
            for name, number in nodes.items():
                held.set_nodes(aws, cluster, name, number)
