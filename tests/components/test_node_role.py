"""What nodes may do, and that every kind of group has its own role."""

from __future__ import annotations

import json

from tests.components import declared
from tests.components.declared import World


def test_only_the_roles_that_are_used_are_made_and_the_two_kinds_share_none(small: World, full: World) -> None:
    assert {role.name for role in small.all(declared.ROLE)} == {"aws-ebs-csi-driver", "cluster", "managed-nodes"}
    assert not small.all(declared.PROFILE)
    assert not small.all(declared.ACCESS_ENTRY)
    # EKS makes the entry of managed groups.
    entry = full.inputs(declared.ACCESS_ENTRY)
    assert entry["type"] == "EC2_LINUX"
    assert entry["principalArn"].endswith("<Role:self-managed-nodes>")
    assert full.inputs(declared.MANAGED, "web")["nodeRoleArn"].endswith("<Role:managed-nodes>")
    assert full.inputs(declared.PROFILE)["role"].startswith("shop-dev-self-managed-nodes-")


def test_a_node_may_join_pull_images_and_answer_ssm(full: World, ipv6: World) -> None:
    names = {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"}
    for found, kind, cni in (
        (full, "managed", {"AmazonEKS_CNI_Policy"}),
        (full, "self-managed", {"AmazonEKS_CNI_Policy"}),
        (ipv6, "managed", set()),
    ):
        given = (each for each in found.all(declared.ATTACHMENT) if each.name.startswith(f"{kind}-nodes-"))
        assert {each.inputs["policyArn"] for each in given} == {
            f"arn:aws:iam::aws:policy/{name}" for name in names | cni
        }
    # AWS has no managed policy for IPv6.
    (statement, tags) = json.loads(ipv6.inputs(declared.ROLE_POLICY, "managed-nodes-cni-ipv6")["policy"])["Statement"]
    assert "ec2:AssignIpv6Addresses" in statement["Action"]
    assert (tags["Action"], tags["Resource"]) == ("ec2:CreateTags", "arn:aws:ec2:*:*:network-interface/*")


def test_sessions_may_be_written_to_their_log_group_alone(small: World, bare: World) -> None:
    policy = json.loads(small.inputs(declared.ROLE_POLICY)["policy"])
    write = next(s for s in policy["Statement"] if s["Sid"] == "WriteSessions")
    group = small.inputs(declared.LOG_GROUP, "sessions")["name"]
    assert write["Resource"] == f"arn:aws:logs:eu-west-1:111122223333:log-group:{group}:*"
    actions = [a for s in policy["Statement"] for a in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])]
    assert not [action for action in actions if "*" in action]
    assert not bare.all(declared.ROLE_POLICY)


def test_ec2_is_trusted_by_its_name_in_the_partition(small: World, in_china: World) -> None:
    for found, service in ((small, "ec2.amazonaws.com"), (in_china, "ec2.amazonaws.com.cn")):
        trust = json.loads(found.inputs(declared.ROLE, "managed-nodes")["assumeRolePolicy"])
        assert trust["Statement"][0]["Principal"] == {"Service": service}
