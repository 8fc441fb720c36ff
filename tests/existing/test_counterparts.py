"""Each amd64 group gets an arm64 group of its size and settings, or a reason why not."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.existing.counterparts import find_counterparts, find_same_size
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.observed.eks.model import NodeSettings, ObservedGroup, ObservedSubnet
from tests.existing.clusters import ARM64, SUBNETS, ZONES, cluster, group, taint


def find(*groups: ObservedGroup, **more: Any) -> dict[str, Any]:
    """The counterparts by name; what gets none by its own, as the reason."""
    found, skipped = find_counterparts(cluster(*groups, **more), ARM64, ZONES)
    return {each.name: each for each in found} | {each.what: each.reason for each in skipped}


@pytest.mark.parametrize(
    ("amd64", "arm64"),
    [
        ("m7i.large", ["m7g.large", "m6g.large"]),
        ("m7i-flex.large", ["m7g.large", "m6g.large"]),
        ("m5.large", ["m6g.large", "m7g.large"]),
        ("c5a.2xlarge", ["c6g.2xlarge", "c7g.2xlarge"]),
        ("r6i.xlarge", ["r6g.xlarge", "r7g.xlarge"]),
        ("m5d.large", ["m6gd.large", "m7gd.large"]),
        ("m5n.large", ["m8gn.large", "m6g.large"]),
        ("t3.medium", ["t4g.medium"]),
        ("c5.9xlarge", []),
        ("g5.xlarge", []),
        ("m9z.large", []),
    ],
)
def test_types_have_the_vcpus_memory_category_and_disks_of_the_other(amd64: str, arm64: list[str]) -> None:
    assert [each.name for each in find_same_size(amd64)][:2] == arm64


def test_settings_are_those_of_the_other_group_without_what_names_an_architecture() -> None:
    own = group(
        "web-amd64",
        taints=("team=web:NoSchedule", "arch=amd64:NoSchedule"),
        labels={"tier": "web", "cpu": "x86_64", "kubernetes.io/role": "web"},
        settings=NodeSettings(disk_size=80, own=("its licenses",)),
    )
    made = find(own)["web-arm64"]
    assert (made.types, made.kind, made.labels) == (("m7g.large",), NodeGroupKind.MANAGED, {"tier": "web"})
    assert (made.taints, made.zones) == ((taint("team=web:NoSchedule"),), ())
    said = "; ".join(made.notes)
    for each in (
        "its licenses",
        "arch=amd64:NoSchedule",
        "cpu=x86_64",
        "kubernetes.io/role=web",
    ):
        assert each in said


def test_a_spot_group_gets_all_types_and_an_on_demand_group_one_for_each_of_its_own() -> None:
    types = ("m7i.large", "m6i.large", "m7a.large")
    assert find(group("a", *types))["a-arm64"].types == ("m7g.large", "m6g.large")
    spot = find(group("a", *types, capacity_type=CapacityType.SPOT))["a-arm64"]
    assert spot.types[:3] == ("m7g.large", "m6g.large", "m8g.large")
    assert "m8gn.large" not in spot.types


def test_a_taint_that_eks_rejects_for_managed_groups_makes_the_group_self_managed() -> None:
    found, _ = find_counterparts(cluster(group()), taint("kubernetes.io/arch=arm64:NoSchedule"), ZONES)
    assert found[0].kind is NodeGroupKind.SELF_MANAGED


def test_a_group_of_one_zone_stays_in_it_and_takes_what_is_offered_there() -> None:
    first = {"m7g.large": frozenset(ZONES[1:]), "m6g.large": frozenset(ZONES)}
    made = find(group("a", subnets=("subnet-a",)), offered=first)["a-arm64"]
    assert (made.types, made.zones) == (("m6g.large",), ("eu-west-1a",))


def test_a_fips_image_stays_one() -> None:
    made = find(group("a", family=AmiFamily.BOTTLEROCKET, fips=True))["a-arm64"]
    assert made.ami_type == "BOTTLEROCKET_ARM_64_FIPS"


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        ("Web_Amd64", "web-arm64"),
        ("x86-64", "nodes-arm64"),
        ("payments-of-the-whole-company-on-demand", "payments-of-the-whole-company-arm64"),
    ],
)
def test_names_fit_into_a_stack_file(name: str, becomes: str) -> None:
    assert list(find(group(name))) == [becomes]


def test_two_groups_of_one_name_get_two() -> None:
    assert list(find(group("a", short_name="web"), group("b", short_name="web", labels={"b": "b"}))) == [
        "web-arm64",
        "web-arm64-2",
    ]


@pytest.mark.parametrize(
    "arm64",
    [
        group("web-graviton", "m8g.xlarge"),
        group("other", "m6g.large", labels={"tier": "web"}, taints=("arch=arm64:NoSchedule",)),
    ],
    ids=["by name", "by size, labels and taints"],
)
def test_an_arm64_group_that_is_there_gets_no_second_one(arm64: ObservedGroup) -> None:
    found = find(group("web", labels={"tier": "web"}), arm64)
    assert found == {"group web": f"the arm64 group {arm64.name} is there already"}


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (group("a", "g5.xlarge"), "its instance types have accelerators (nvidia)"),
        (group("a", family=AmiFamily.WINDOWS), "its nodes run Windows"),
        (group("a", family=None, settings=NodeSettings(image="ami-1")), "an image of your own, ami-1"),
        (group("a", why_not="it is odd"), "it is odd"),
        (group("a", "c5.9xlarge"), "no arm64 type with the vCPUs, memory and disks of c5.9xlarge"),
        (group("a", architecture=None), "its instance types or their architecture are not known"),
        (group("a", subnets=("subnet-c",)), "none of its zones has a subnet"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_group_without_a_counterpart_has_the_reason(own: ObservedGroup, reason: str) -> None:
    subnets = (*SUBNETS, ObservedSubnet("subnet-c", "eu-west-1c", 0, public=False))
    assert reason in find(own, subnets=subnets)["group a"]


def test_arm64_groups_themselves_are_passed_over() -> None:
    assert group("g", "m7g.large").architecture is Architecture.ARM64
    assert find(group("g", "m7g.large")) == {}
