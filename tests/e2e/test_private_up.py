"""A private cluster without internet access: Karpenter, then the cluster autoscaler in its place."""

from __future__ import annotations

import pytest

from sandbox.layout import CLONE
from tests.e2e.cluster_records import node_pools, records, releases
from tests.e2e.world import NO_REFRESH, World

pytestmark = pytest.mark.e2e
STACK = "vault-prod"
REGISTRY = "111122223333.dkr.ecr.eu-central-1.amazonaws.com"


def test_either_autoscaler_comes_up_without_internet_access_changes_nothing_more_and_goes_down(world: World) -> None:
    text = (CLONE / "examples" / "13-private-cluster" / f"Pulumi.{STACK}.yaml").read_text(encoding="utf-8")
    world.stack_file(STACK).write_text(f"{text}  multiarch-eks:deletionProtection: false\n", encoding="utf-8")
    world.sandbox("up", STACK)
    assert world.preview(STACK) == []
    assert set(node_pools(world, STACK)) == {"general-arm64-spot", "general-arm64-on-demand"}

    # Karpenter calls no IAM: the profile is there before it, and has the role of its nodes.
    spec = records(world, STACK)["EC2NodeClass", "default"]["spec"]
    assert "role" not in spec
    iam, ec2 = world.aws(STACK).client("iam"), world.aws(STACK).client("ec2")
    (role,) = iam.get_instance_profile(InstanceProfileName=spec["instanceProfile"])["InstanceProfile"]["Roles"]
    assert role["RoleName"].startswith(f"{STACK}-karpenter-nodes-")
    values = releases(world, STACK)["karpenter"]["values"]
    assert values["settings"]["isolatedVPC"] is True
    assert values["controller"]["image"] == {"repository": f"{REGISTRY}/ecr-public/karpenter/controller"}
    assert ec2.describe_nat_gateways()["NatGateways"] == []
    assert "com.amazonaws.eu-central-1.sqs" in {
        each["ServiceName"] for each in ec2.describe_vpc_endpoints()["VpcEndpoints"]
    }

    endpoints = [*world.plan(STACK).network.endpoints, "autoscaling"]  # type: ignore[union-attr]
    world.edit(STACK, "network", "endpoints", value=endpoints)
    world.edit(STACK, "autoscaling", value={"use": "cluster-autoscaler"})
    world.up(STACK, NO_REFRESH)
    assert world.preview(STACK) == []
    assert node_pools(world, STACK) == {}
    image = releases(world, STACK)["cluster-autoscaler"]["values"]["image"]
    assert image["repository"] == f"{REGISTRY}/k8s/autoscaling/cluster-autoscaler"
    assert "nothing is left" in world.sandbox("down").stderr
