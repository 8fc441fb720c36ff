"""What keeps a stack from adding nodes to an existing cluster is one line with the way out, before the first change."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from multiarch.doctor.account import judge_problems
from multiarch.doctor.joined import JoinedCluster, find_obstacles
from multiarch.doctor.model import CheckState
from multiarch.errors import Problem, StackError
from multiarch.runs import existing_cluster
from multiarch.stack.eks_cluster import EksCluster
from multiarch.stack.origin import Origin
from multiarch.stack.plan import make_plan
from tests.stack.test_existing_cluster import A, B, on_cluster
from tests.stack.words import AUTO_MODE, EXISTING_CLUSTER, TODAY, plan, stack

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
        (replace(THERE, custom_networking=True), SUBNETS, {}, "cluster-differs", "cluster.customNetworking:"),
        (THERE, {A: SUBNETS[A]}, {}, "not-in-cluster-vpc", f"cluster.subnets.eu-west-1b[0]: the subnet {B} does"),
        (replace(THERE, vpc_id="vpc-2"), {A: {**SUBNETS[A], "VpcId": "vpc-2"}, B: SUBNETS[B]}, {},
         "not-in-cluster-vpc", "is in vpc-1; the cluster is in vpc-2"),
        (THERE, OTHER_ZONE, {}, "not-in-cluster-vpc", "is in eu-west-1c"),
        (THERE, FULL, {}, "no-free-pod-addresses", "9 free addresses, and a node with its pods takes 30, if they"),
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


@pytest.mark.parametrize(("auto_mode", "rules"), [(True, []), (False, [("cluster-differs", "autoscaling.use")])])
def test_a_cluster_without_auto_mode_is_an_obstacle(auto_mode: bool, rules: list[tuple[str, str]]) -> None:  # noqa: FBT001
    made = plan({**AUTO_MODE, **EXISTING_CLUSTER})
    zones = EXISTING_CLUSTER["cluster"]["subnets"]
    rows = {ids[0]: {"VpcId": "vpc-1", "AvailabilityZone": zone} for zone, ids in zones.items()}
    there = replace(THERE, authentication_mode="API", auto_mode=auto_mode)
    found = find_obstacles(made, Origin(), JoinedCluster(there, rows))
    assert [(each.rule, each.key) for each in found] == rules


def test_security_groups_are_in_the_clusters_vpc() -> None:
    made = plan(on_cluster(cluster={"securityGroups": ["sg-00000001", "sg-00000002"]}))
    (found,) = find_obstacles(made, Origin(), JoinedCluster(THERE, SUBNETS, {}, {"sg-00000001": {"VpcId": "vpc-1"}}))
    assert (found.rule, found.key) == ("not-in-cluster-vpc", "cluster.securityGroups[1]")
    assert "sg-00000002 does not exist" in found.message


def test_a_missing_agent_is_an_obstacle_only_where_the_file_says_that_it_is_there() -> None:
    made = plan(on_cluster(cluster={"podIdentityAgent": True}))
    (found,) = find_obstacles(made, Origin(), JoinedCluster(THERE, SUBNETS))
    assert (found.rule, found.key) == ("cluster-differs", "cluster.podIdentityAgent")


class Denying:
    """Stands in for EKS, EC2 and Auto Scaling: a cluster, and operations that the identity may not call."""

    class exceptions:  # noqa: N801  (as boto3 spells it)
        ResourceNotFoundException = LookupError

    def __init__(self, *denied: str) -> None:
        self.denied = denied

    def __getattr__(self, operation: str) -> Any:  # noqa: ANN401 (an operation of boto3)
        def call(**_: object) -> dict[str, Any]:
            if operation in self.denied:
                raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, operation)
            rows = [{"SubnetId": key, **row} for key, row in OTHER_ZONE.items()]
            vpc = {"vpcId": "vpc-1", "subnetIds": [A, B]}
            cluster = {"status": "ACTIVE", "version": "1.35", "resourcesVpcConfig": vpc}
            access = {"accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"}}
            answers: dict[str, dict[str, Any]] = {
                "describe_cluster": {"cluster": cluster | access},
                "describe_addon": {"addon": {}},
                "describe_subnets": {"Subnets": rows},
                "list_nodegroups": {"nodegroups": ["web"]},
            }
            return answers[operation]

        return call

    def get_paginator(self, operation: str) -> Any:  # noqa: ANN401 (a paginator of boto3)
        return SimpleNamespace(paginate=lambda **arguments: [getattr(self, operation)(**arguments)])


@pytest.mark.parametrize(
    ("denied", "rules", "says"),
    [
        ((), ["not-in-cluster-vpc", "group-of-another"], []),
        (("describe_addon",), ["not-in-cluster-vpc", "group-of-another"], ["cluster.podIdentityAgent. AWS rejected"]),
        (("describe_subnets",), ["group-of-another"], ["free addresses of cluster.subnets. AWS rejected"]),
        (("list_nodegroups",), ["not-in-cluster-vpc"], ["names of managed node groups. AWS rejected"]),
        (("list_nodegroups", "describe_subnets"), [], ["free addresses", "names of managed node groups"]),
    ],
)
def test_a_call_that_is_denied_leaves_the_other_checks(
    monkeypatch: pytest.MonkeyPatch, denied: tuple[str, ...], rules: list[str], says: list[str]
) -> None:
    aws = Denying(*denied)
    monkeypatch.setattr(existing_cluster, "open_stack_clients", lambda _: lambda _: aws)
    words = stack(on_cluster(cluster={"podIdentityAgent": True}))
    made, told = make_plan(words, today=TODAY), list[Problem]()
    try:
        told += existing_cluster.reject_conflicts(words, made)
    except StackError as rejected:
        told += rejected.problems
    assert [each.rule for each in told if each.rule != "cluster-not-read"] == rules
    unread = [each for each in told if each.rule == "cluster-not-read"]
    assert [part in each.message for part, each in zip(says, unread, strict=True)] == [True] * len(says)
    assert all("allow" in each.hint for each in unread)
