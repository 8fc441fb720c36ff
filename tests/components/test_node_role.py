"""What nodes may do, and that every kind of group has its own role."""

from __future__ import annotations

import json

import pytest

from tests.components import declared
from tests.components.declared import World, world


def test_only_the_roles_that_are_used_are_made(small: World, full: World) -> None:
    assert {role.name for role in small.all(declared.ROLE)} == {"aws-ebs-csi-driver", "cluster", "managed-nodes"}
    assert "self-managed-nodes" in {role.name for role in full.all(declared.ROLE)}
    assert not small.all(declared.PROFILE)
    assert not small.all(declared.ACCESS_ENTRY)


@pytest.mark.parametrize("kind", ["managed", "self-managed"])
def test_a_node_may_join_pull_images_and_answer_ssm(full: World, kind: str) -> None:
    prefix = f"{kind}-nodes-"
    attached = {a.inputs["policyArn"] for a in full.all(declared.ATTACHMENT) if a.name.startswith(prefix)}
    assert attached == {
        f"arn:aws:iam::aws:policy/{name}"
        for name in (
            "AmazonEKSWorkerNodePolicy",
            "AmazonEKS_CNI_Policy",
            "AmazonEC2ContainerRegistryPullOnly",
            "AmazonSSMManagedInstanceCore",
        )
    }


def test_self_managed_nodes_get_an_access_entry_and_managed_ones_none(full: World) -> None:
    entry = full.inputs(declared.ACCESS_ENTRY)
    assert entry["type"] == "EC2_LINUX"
    assert entry["principalArn"].endswith("<Role:self-managed-nodes>")


def test_the_two_kinds_share_no_role(full: World) -> None:
    assert full.inputs(declared.MANAGED, "web")["nodeRoleArn"].endswith("<Role:managed-nodes>")
    assert full.inputs(declared.PROFILE)["role"].startswith("shop-dev-self-managed-nodes-")


def test_sessions_may_be_written_to_their_log_group_alone(small: World) -> None:
    policy = json.loads(small.inputs(declared.ROLE_POLICY)["policy"])
    write = next(s for s in policy["Statement"] if s["Sid"] == "WriteSessions")
    group = small.inputs(declared.LOG_GROUP, "sessions")["name"]
    assert write["Resource"] == f"arn:aws:logs:eu-west-1:111122223333:log-group:{group}:*"
    actions = [a for s in policy["Statement"] for a in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])]
    assert not [action for action in actions if "*" in action]


def test_without_session_logs_nodes_get_no_policy_for_them() -> None:
    assert not world({"session": {"logToCloudWatch": False}}).all(declared.ROLE_POLICY)


def test_with_ipv6_nodes_may_take_ipv6_addresses_in_place_of_interfaces() -> None:
    found = world({"network": {"ipFamily": "ipv6"}})
    assert not [each for each in found.all(declared.ATTACHMENT) if each.name.endswith("AmazonEKS_CNI_Policy")]
    (statement, tags) = json.loads(found.inputs(declared.ROLE_POLICY, "managed-nodes-cni-ipv6")["policy"])["Statement"]
    assert "ec2:AssignIpv6Addresses" in statement["Action"]
    assert (tags["Action"], tags["Resource"]) == ("ec2:CreateTags", "arn:aws:ec2:*:*:network-interface/*")


@pytest.mark.parametrize(
    ("region", "service"), [("eu-west-1", "ec2.amazonaws.com"), ("cn-north-1", "ec2.amazonaws.com.cn")]
)
def test_ec2_is_trusted_by_its_name_in_the_partition(region: str, service: str) -> None:
    trust = json.loads(world(region=region).inputs(declared.ROLE, "managed-nodes")["assumeRolePolicy"])
    assert trust["Statement"][0]["Principal"] == {"Service": service}


def test_a_roles_name_fits_though_the_clusters_is_long() -> None:
    found = world({"clusterName": "a-cluster-with-a-very-long-name-too", **declared.FULL})
    for role in found.all(declared.ROLE):
        assert len(str(role.inputs["namePrefix"])) <= 38
        assert str(role.inputs["namePrefix"]).startswith("a-cluster")
