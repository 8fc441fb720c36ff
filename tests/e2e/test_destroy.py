"""A destroy leaves nothing in AWS and no file changed, and is rejected while a stack is protected.

These tests take the platform down, so they come last: see tests/lanes.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import inventory
from sandbox.aws.remote import Remote
from tests.e2e.world import NO_REFRESH, World, names
from tests.sandbox.leftovers import leftovers

pytestmark = pytest.mark.e2e


def files(folder: Path) -> dict[str, bytes]:
    """Every file of the project, without what Python and the sandbox write."""
    found = (file for file in folder.rglob("*") if file.is_file())
    kept = (file for file in found if not {".sandbox", ".venv", "__pycache__"} & set(file.relative_to(folder).parts))
    return {str(file.relative_to(folder)): file.read_bytes() for file in kept}


def test_a_protected_stack_is_destroyed_only_after_its_protection_was_switched_off(platform: World) -> None:
    stack, region = "legacy-al2", platform.layout.region("legacy-al2")
    cluster = platform.plan(stack).cluster.name
    eks = platform.aws(stack).client("eks")
    with platform.made(stack, "deletionProtection", value=True) as steps:
        assert names(steps) == [
            ("update", "aws:eks/cluster:Cluster cluster-eksCluster"),
            ("update", "aws:kms/key:Key key"),  # a deleted key waits longer before it is gone
        ]
    there, nodes = platform.held(stack), platform.instance_ids(stack)

    # Whoever skips the preview, which is rejected too, keeps the cluster, its nodes and its network.
    rejected = platform.pulumi(stack, "destroy", "--yes", "--skip-preview", "--json", expect=1)
    assert "protected" in rejected.stdout
    assert platform.instance_ids(stack) == nodes
    assert eks.describe_cluster(name=cluster)["cluster"]["status"] == "ACTIVE"
    for kind in ("KMS keys", "NAT gateways", "subnets", "launch templates", "instances"):
        assert platform.held(stack)[kind] == there[kind]

    platform.edit(stack, "deletionProtection", value=False)
    platform.up(stack, NO_REFRESH)
    assert eks.describe_cluster(name=cluster)["cluster"]["deletionProtection"] is False
    platform.pulumi(stack, "destroy", "--yes", "--skip-preview", "--json")
    left = leftovers(platform.server.url, region)
    # IAM has no regions: the other stacks' are there too.
    everywhere = {kind: left.pop(kind, []) for kind in inventory.EVERYWHERE}
    assert left == {}
    assert [name for found in everywhere.values() for name in found if stack in name or region in name] == []


def test_a_destroy_without_the_kubernetes_api_needs_a_word_and_leaves_objects(platform: World) -> None:
    stack, remote = "checkout-dev", Remote(platform.server.url)
    objects, there = sorted(platform.layout.manifests(stack).iterdir()), platform.held(stack)
    remote.set_kubernetes_down(3600)
    try:
        said = platform.pulumi(stack, "destroy", "--yes", "--skip-preview", "--json", expect=1).errors()
        assert "failed to read resource state due to unreachable cluster" in said
        assert platform.held(stack) == there
        platform.pulumi(stack, "destroy", "--yes", "--skip-preview", "--json", PULUMI_K8S_DELETE_UNREACHABLE="true")
    finally:
        remote.set_kubernetes_down(0)
    assert platform.resources(stack) == []
    assert sorted(platform.layout.manifests(stack).iterdir()) == objects


def test_down_destroys_the_rest_protected_or_not_and_changes_no_file(platform: World) -> None:
    before = files(platform.root)
    assert platform.plan("payments-prod").own_cluster.deletion_protection
    said = platform.sandbox("down").stderr
    assert "cluster payments-prod has deletion protection; this is a sandbox: switching it off" in said
    assert "nothing is left: no resource in AWS, no process, no file" in said
    assert platform.processes() == {}
    assert not platform.layout.folder.exists()
    assert files(platform.root) == before
