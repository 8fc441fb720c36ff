"""What keeps a stack from adding nodes to an existing cluster is one line with the way out, before the first change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from multiarch.doctor.account import judge_problems
from multiarch.doctor.joined import JoinedCluster, find_obstacles
from multiarch.doctor.model import CheckState
from multiarch.stack.eks_cluster import EksCluster
from multiarch.stack.origin import Origin
from tests.stack.test_existing_cluster import A, B, on_cluster
from tests.stack.words import plan

THERE = EksCluster(
    name="shop",
    status="ACTIVE",
    version="1.35",
    authentication_mode="API_AND_CONFIG_MAP",
    ip_family="ipv4",
    vpc_id="vpc-1",
    security_group="sg-0",
    subnet_ids=(A, B),
    endpoint="",
    authority="",
    pod_identity_agent=False,
    prefix_delegation=None,
)
SUBNETS: dict[str, Any] = {
    subnet: {"VpcId": "vpc-1", "AvailabilityZone": zone, "AvailableIpAddressCount": 1000}
    for subnet, zone in ((A, "eu-west-1a"), (B, "eu-west-1b"))
}
OWN = {"team": "shop", "environment": "dev", "managed-by": "multiarch-eks"}
FULL = {**SUBNETS, B: {**SUBNETS[B], "AvailableIpAddressCount": 9}}
NONE_FREE = {**SUBNETS, B: {**SUBNETS[B], "AvailableIpAddressCount": 0}}
GROUP = "web-20261128000000000000000001"
OTHER_ZONE = {**SUBNETS, B: {**SUBNETS[B], "AvailabilityZone": "eu-west-1c"}}


@pytest.mark.parametrize(
    ("cluster", "subnets", "groups", "rule", "says"),
    [
        (None, {}, {}, "cluster-not-found", "cluster.existing: there is no EKS cluster shop in eu-west-1. `aws eks"),
        (replace(THERE, status="CREATING"), {}, {}, "cluster-not-found", "is CREATING, and takes no nodes. Wait"),
        (replace(THERE, status="DELETING"), {}, {}, "cluster-not-found", "--name shop --region eu-west-1`"),
        (replace(THERE, version="1.34"), SUBNETS, {}, "cluster-differs", "kubernetesVersion: the cluster shop has"),
        (replace(THERE, authentication_mode="API"), SUBNETS, {}, "cluster-differs", "`multiarch stack pin shop-dev`"),
        (replace(THERE, ip_family="ipv6"), SUBNETS, {}, "cluster-differs", "cluster.ipFamily: "),
        (replace(THERE, prefix_delegation=True), SUBNETS, {}, "cluster-differs", "has true, and the file says false"),
        (THERE, {A: SUBNETS[A]}, {}, "not-in-cluster-vpc", f"cluster.subnets.eu-west-1b[0]: the subnet {B} does"),
        (replace(THERE, vpc_id="vpc-2"), {A: {**SUBNETS[A], "VpcId": "vpc-2"}, B: SUBNETS[B]}, {},
         "not-in-cluster-vpc", "is in vpc-1; the cluster is in vpc-2"),
        (THERE, OTHER_ZONE, {}, "not-in-cluster-vpc", "is in eu-west-1c"),
        (THERE, FULL, {}, "no-free-pod-addresses", "have 9 free addresses, and a node with its pods takes 30, if these"),
        (THERE, NONE_FREE, {}, "no-free-addresses", "eu-west-1b have 0 free addresses, and a node with its pods takes"),
        (THERE, SUBNETS, {"web": {}}, "group-of-another", "nodeGroups.web: the cluster shop has a node group web,"),
        (THERE, SUBNETS, {GROUP: {**OWN, "environment": "prod"}}, "group-of-another", "the stack shop-prod made"),
        (THERE, SUBNETS, {GROUP: {"Name": "web"}}, "group-of-another", "which another tool made"),
        (THERE, SUBNETS, {GROUP: {**OWN, "managed-by": "terraform"}}, "group-of-another", "which another tool made"),
        (THERE, SUBNETS, {GROUP: OWN}, "", ""),
        # Nodes of the stack hold the addresses: the next run must not be rejected.
        (THERE, FULL, {GROUP: OWN}, "", ""),
    ],
)  # fmt: skip
def test_an_obstacle_is_told_with_its_key_and_the_way_out(
    cluster: EksCluster | None, subnets: dict[str, Any], groups: dict[str, Any], rule: str, says: str
) -> None:
    found = list(find_obstacles(plan(on_cluster()), Origin(), JoinedCluster(cluster, subnets, groups)))
    assert [each.rule for each in found] == ([rule] if rule else [])
    assert all(says in str(each) and each.hint for each in found)


@pytest.mark.parametrize(("subnets", "state"), [(FULL, CheckState.WARNING), (NONE_FREE, CheckState.FAILED)])
def test_doctor_fails_where_not_even_the_node_gets_an_address(subnets: dict[str, Any], state: CheckState) -> None:
    (row,) = judge_problems("cluster", "", find_obstacles(plan(on_cluster()), Origin(), JoinedCluster(THERE, subnets)))
    assert row.state is state


def test_security_groups_are_in_the_clusters_vpc() -> None:
    made = plan(on_cluster(cluster={"securityGroups": ["sg-00000001", "sg-00000002"]}))
    (found,) = find_obstacles(made, Origin(), JoinedCluster(THERE, SUBNETS, {}, {"sg-00000001": {"VpcId": "vpc-1"}}))
    assert (found.rule, found.key) == ("not-in-cluster-vpc", "cluster.securityGroups[1]")
    assert "sg-00000002 does not exist" in found.message


def test_a_missing_agent_is_an_obstacle_only_where_the_file_says_that_it_is_there() -> None:
    made = plan(on_cluster(cluster={"podIdentityAgent": True}))
    (found,) = find_obstacles(made, Origin(), JoinedCluster(THERE, SUBNETS))
    assert (found.rule, found.key) == ("cluster-differs", "cluster.podIdentityAgent")
