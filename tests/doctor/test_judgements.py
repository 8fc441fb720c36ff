"""What doctor concludes from what was read, where the sandbox's AWS has nothing to read."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from typing import Any

import pytest

from multiarch.doctor.account import judge_groups, judge_offerings, judge_subnets, list_service_roles
from multiarch.doctor.existing import OwnCluster, UnhealthyGroup, find_fixed_changes
from multiarch.doctor.model import CheckState
from multiarch.doctor.programs import judge_plugins
from multiarch.doctor.quotas import VPCS, find_vcpu_quota, list_needs
from multiarch.doctor.reach import judge_releases, list_chart_hosts, list_charts
from multiarch.facts.instance_types import get_instance_type, list_instance_types
from multiarch.nodes.model import CapacityType
from multiarch.stack.model import ExistingNetwork
from multiarch.stack.origin import Origin
from tests.doctor.test_joined import THERE as EXISTING
from tests.stack.words import plan

KEY = "arn:aws:kms:eu-west-1:111122223333:key/"
THERE = OwnCluster(
    **{each.name: getattr(EXISTING, each.name) for each in fields(EXISTING)}
    | {"vpc_id": "vpc-0123456789abcdef0", "service_cidr": "172.20.0.0/16", "key_arn": f"{KEY}own"},
    cidr="10.0.0.0/16",
    own_vpc=True,
    own_key_arn=f"{KEY}own",
)
ROLES = "arn:aws:iam::111122223333:role"
OWN_ROLE = replace(THERE, role_arn=f"{ROLES}/teams/{plan({}).cluster.name}-cluster-20261128")
PLATFORMS = replace(THERE, role_arn=f"{ROLES}/teams/eks-cluster")
ELSEWHERE = {"vpcId": "vpc-1123456789abcdef0", "privateSubnetIds": [f"subnet-0123456789abcdef{n}" for n in (0, 1)]}
GROUPS = (("web", "DEGRADED"), ("web", "CREATE_FAILED"), ("theirs", "CREATE_FAILED"))
KARPENTER = {"autoscaling": {"use": "karpenter", "karpenter": {"controllerGroup": "web"}}}


@pytest.mark.parametrize(
    ("change", "there", "key"),
    [
        ({}, THERE, None),
        ({}, replace(THERE, key_arn="", own_key_arn=""), None),  # encryption can be turned on
        ({"secretsEncryption": {"kmsKeyArn": f"{KEY}theirs"}}, THERE, "secretsEncryption.kmsKeyArn"),
        ({}, replace(THERE, key_arn=f"{KEY}theirs"), "secretsEncryption.kmsKeyArn"),
        ({"secretsEncryption": {"enabled": False}}, THERE, "secretsEncryption.enabled"),
        ({"network": {"cidr": "10.8.0.0/16"}}, THERE, "network.cidr"),
        ({"network": {"ipFamily": "ipv6"}}, replace(THERE, ip_family="ipv4"), "network.ipFamily"),
        # A cluster stays in its VPC, of whichever kind it is.
        ({"network": ELSEWHERE}, THERE, "network"),
        ({"network": ELSEWHERE}, replace(THERE, own_vpc=False), "network.vpcId"),
        ({"network": {"cidr": "10.8.0.0/16"}}, replace(THERE, own_vpc=False), "network"),
        # Somebody changed the tags of the stack's own VPC; the run that writes them again must not be rejected.
        ({}, replace(THERE, own_vpc=False), None),
        # EKS can't change a cluster's role, which has a path.
        ({"iam": {"path": "/teams/"}}, OWN_ROLE, None),
        ({}, OWN_ROLE, "iam.path"),
        ({"iam": {"roles": {"cluster": f"{ROLES}/other"}}}, OWN_ROLE, "iam.roles.cluster"),
        ({"iam": {"roles": {"cluster": PLATFORMS.role_arn}}}, PLATFORMS, None),
        ({"iam": {"roles": {"cluster": f"{ROLES}/other"}}}, PLATFORMS, "iam.roles.cluster"),
    ],
)
def test_only_values_that_a_cluster_keeps_are_compared(
    change: Mapping[str, Any], there: OwnCluster, key: str | None
) -> None:
    assert [each.key for each in find_fixed_changes(plan(change), Origin(), there)] == ([key] if key else [])


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"a": ("vpc-1", "eu-west-1a"), "b": ("vpc-1", "eu-west-1b")}, ["2 in eu-west-1a, eu-west-1b"]),
        ({"a": ("vpc-1", "eu-west-1a")}, ["b does not exist in this account and region"]),
        ({"a": ("vpc-1", "eu-west-1a"), "b": ("vpc-2", "eu-west-1b")}, ["b is in vpc-2, not in vpc-1"]),
        ({"a": ("vpc-1", "eu-west-1a"), "b": ("vpc-1", "eu-west-1a")}, ["b is in eu-west-1a, not in eu-west-1b"]),
    ],
)
def test_subnets_of_an_existing_vpc_are_where_the_stack_says(rows: dict[str, tuple[str, str]], says: list[str]) -> None:
    network = ExistingNetwork("vpc-1", ("a", "b"), (("eu-west-1a", ("a",)), ("eu-west-1b", ("b",))))
    found = {subnet: {"VpcId": vpc, "AvailabilityZone": zone} for subnet, (vpc, zone) in rows.items()}
    assert [row.text for row in judge_subnets(network, found)] == says
    without_zones = ExistingNetwork("vpc-1", ("a", "b"))
    same = [row.text for row in judge_subnets(without_zones, found)]
    assert same == (["all are in eu-west-1a; EKS needs two zones"] if "not in eu" in says[0] else says)
    for_pods = replace(network, pod_subnets=(("eu-west-1a", "c"), ("eu-west-1b", "b")))
    faults = [row.text for row in judge_subnets(for_pods, found)]
    assert faults[-1] == "c does not exist in this account and region"
    without_ipv6 = [row.text for row in judge_subnets(replace(network, ipv6=True), found)]
    assert without_ipv6[0] == "a does not assign IPv6 addresses"


@pytest.mark.parametrize(
    ("name", "on_demand", "spot"),
    [
        ("m7g.large", "L-1216C47A", "L-34B43A08"),
        ("g5g.xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("p5.48xlarge", "L-417A185B", None),
        ("x2gd.large", "L-7295265B", "L-E3A00192"),
        ("inf2.xlarge", "L-1945791B", "L-B5D1601B"),
    ],
)
def test_an_instance_counts_against_the_quota_of_its_class(name: str, on_demand: str, spot: str | None) -> None:
    found = [find_vcpu_quota(get_instance_type(name), each) for each in CapacityType]
    assert [each and each.code for each in found] == [on_demand, spot, on_demand]
    assert found[0] == found[2]


def test_every_type_that_eks_can_use_has_a_quota() -> None:
    kinds = [each for each in list_instance_types().values() if each.eks]
    assert [each.name for each in kinds if find_vcpu_quota(each, CapacityType.ON_DEMAND) is None] == []


def test_an_existing_network_needs_no_vpc_and_a_group_of_two_quotas_counts_at_most_in_each() -> None:
    groups = {
        "web": {"instanceTypes": ["m7i.large"], "minSize": 1, "maxSize": 8},
        "web-arm": {"instanceTypes": ["m7g.large", "x2gd.xlarge"], "minSize": 2, "maxSize": 3},
    }
    needs = list_needs(plan({"network": ELSEWHERE, "nodeGroups": groups}))
    assert VPCS not in needs
    counted = {quota.code: (need.start, need.largest) for quota, need in needs.items()}
    assert counted["L-7295265B"] == (0, 12)
    assert counted["L-1216C47A"] == (2, 6 + 16)


@pytest.mark.parametrize(
    ("offered", "state", "text"),
    [
        ({"m7i.large": {"a", "b"}, "m7i.xlarge": {"a", "b"}}, CheckState.OK, "all are offered in a, b"),
        ({"m7i.large": {"a"}, "m7i.xlarge": {"a", "b"}}, CheckState.WARNING, "not offered: m7i.large in b"),
        ({}, CheckState.FAILED, "not offered: m7i.large in a, b, m7i.xlarge in a, b"),
    ],
)
def test_a_group_needs_one_of_its_types_in_one_of_its_zones(
    offered: Mapping[str, AbstractSet[str]], state: CheckState, text: str
) -> None:
    change = {"nodeGroups": {"web": {"instanceTypes": ["m7i.large", "m7i.xlarge"]}, "web-arm": None}}
    (row,) = judge_offerings(plan(change), ["a", "b"], offered)
    assert row.state is state
    assert text in row.text


def test_karpenter_needs_the_spot_role_and_the_hosts_are_those_of_the_charts_in_use() -> None:
    assert "AWSServiceRoleForEC2Spot" not in list_service_roles(plan())
    assert "AWSServiceRoleForEC2Spot" in list_service_roles(plan(KARPENTER))
    assert list_chart_hosts(plan()) == ()
    assert list_chart_hosts(plan(KARPENTER)) == ("public.ecr.aws",)
    assert list_chart_hosts(plan({**KARPENTER, "charts": {"registry": "oci://r.example:5000/a"}})) == (
        "r.example:5000",
    )


def test_a_plugin_that_may_not_be_downloaded_stops_an_up() -> None:
    packages = {"aws": "7.51.1", "eks": "4.4.0"}
    rows = list(judge_plugins(packages, {("aws", "7.51.1")}, {"eks"}, downloads=False))
    assert [(row.state.value, row.text.split(";")[0]) for row in rows] == [
        ("ok", "aws 7.51.1"),
        ("ok", "eks, on PATH"),
        ("failed", "the package pulumi-kubernetes is not in the virtual environment"),
        ("failed", "aws 7.25.0 is not installed"),
        ("failed", "kubernetes 4.19.0 is not installed"),
    ]


@pytest.mark.parametrize(
    ("revisions", "state", "said"),
    [
        ([(9, "failed"), (10, "deployed")], CheckState.OK, "1 of 2 are installed, and none has failed"),
        ([(10, "failed"), (9, "deployed")], CheckState.FAILED, "n/karpenter is failed (revision 10), not deployed"),
        ([], CheckState.OK, "0 of 2 are installed"),
    ],
)
def test_the_latest_revision_of_the_stacks_own_releases_counts(
    revisions: list[tuple[int, str]], state: CheckState, said: str
) -> None:
    kept = [("karpenter", *each) for each in revisions] + [("theirs", 1, "failed")]
    secrets = [
        {"namespace": "n", "labels": {"name": name, "version": str(revision), "status": status}}
        for name, revision, status in kept
    ]
    (row,) = judge_releases(secrets, list_charts(plan(KARPENTER)).keys())
    assert (row.state, said in row.text) == (state, True)


def test_a_degraded_group_is_named_and_does_not_stop_an_up() -> None:
    groups = [UnhealthyGroup(f"{name}-1", state, ("Code: why",)) for name, state in GROUPS]
    rows = list(judge_groups(plan(), "r", groups))
    assert [(row.state, row.text) for row in rows] == [
        (CheckState.WARNING, "web-1 is DEGRADED: Code: why"),
        (CheckState.FAILED, "web-1 is CREATE_FAILED: Code: why"),
        (CheckState.WARNING, "theirs-1 is CREATE_FAILED: Code: why"),
    ]
