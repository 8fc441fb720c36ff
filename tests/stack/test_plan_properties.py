"""No accepted stack yields a plan whose parts disagree about an architecture.

The oracle is moto's copy of EC2's DescribeInstanceTypes, not our table, and the names that AWS gives its images.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import moto
from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.facts.ami_families import AmiFamily
from multiarch.nodes.model import BootstrapCase, ClusterFacts, NodeGroupPlan
from multiarch.nodes.user_data import render_user_data
from multiarch.rules import Severity
from multiarch.stack.model import Plan
from tests.stack.words import plan, problems

FACTS = ClusterFacts("shop-dev", "https://example.invalid", "Q0E=", "172.20.0.0/16")


@cache
def ec2() -> dict[str, frozenset[str]]:
    """Architectures by type, as EC2 says them."""
    data = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
    with gzip.open(data, "rt") as file:
        return {
            name: frozenset(row["ProcessorInfo"]["SupportedArchitectures"]) for name, row in json.load(file).items()
        }


def said_of(name: str) -> str:
    return "arm64" if ec2()[name] & {"arm64", "arm64_mac"} else "amd64"


# Whole families are too many to meet by chance: pairs that a hurried person mixes up come first.
NEAR = [
    "m7g.large",
    "m7i.large",
    "m7a.large",
    "c7g.xlarge",
    "c7i.xlarge",
    "i4g.large",
    "i4i.large",
    "x8g.large",
    "g5g.xlarge",
]
TYPES = st.one_of(st.sampled_from(NEAR), st.sampled_from(sorted(ec2())))
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,4})?", fullmatch=True)
AMI_TYPES = st.sampled_from([
    None, None, None, "AL2023_ARM_64_STANDARD", "AL2023_x86_64_STANDARD", "BOTTLEROCKET_ARM_64",
    "BOTTLEROCKET_x86_64_FIPS", "AL2_ARM_64", "AL2_x86_64_GPU", "AL2023_ARM_64_NVIDIA", "AL2023_x86_64_NEURON",
])  # fmt: skip


def without_none(words: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in words.items() if value is not None}


GROUPS = st.fixed_dictionaries({
    "instanceTypes": st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "amiType": AMI_TYPES,
    "amiFamily": st.sampled_from([None, "AL2", "AL2023", "Bottlerocket"]),
    "kind": st.sampled_from(["managed", "self-managed"]),
    "arm64Taint": st.booleans(),
    "ami": st.sampled_from([None, {"id": "ami-0123456789abcdef0"}]),
}).map(without_none)  # fmt: skip
PAIRS = st.fixed_dictionaries({
    "instanceTypes": st.fixed_dictionaries({
        "amd64": st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "arm64": st.lists(TYPES, min_size=1, max_size=2, unique=True),
    }),
    "amiFamily": st.sampled_from([None, "AL2023", "Bottlerocket"]),
}).map(without_none)  # fmt: skip
STACKS = st.fixed_dictionaries({
    "kubernetesVersion": st.sampled_from(["1.32", "1.35"]),
    "arm64Taint": st.sampled_from(["arch=arm64:NoSchedule", "kubernetes.io/arch=arm64:NoSchedule", "none"]),
    "network": st.just({"cidr": "10.0.0.0/16"}),
    "nodeGroups": st.dictionaries(NAMES, GROUPS, max_size=3),
    "multiArchitectureGroups": st.dictionaries(NAMES, PAIRS, max_size=1),
})  # fmt: skip
AMI_SPELLING = {"amd64": ("x86_64",), "arm64": ("ARM_64", "arm64")}


def parts_agree(group: NodeGroupPlan, made: Plan) -> None:
    architecture = str(group.architecture)
    assert {said_of(t.name) for t in group.instance_types} == {architecture}
    assert group.ami_type.architecture is group.architecture
    other = "amd64" if architecture == "arm64" else "arm64"
    for text in (group.ami_type.name, group.ami.ssm_parameter):
        if "NVIDIA" not in text or text.startswith("/"):
            assert not any(spelling in text for spelling in AMI_SPELLING[other])
    half = group.key.startswith("multiArchitectureGroups")
    may_carry = architecture == "arm64" or half
    carries = made.arm64_taint is not None and made.arm64_taint in group.taints
    assert may_carry or not carries
    if half and made.arm64_taint is not None:
        assert carries
        assert group.name.endswith(f"-{architecture}")
    text = render_user_data(group, FACTS)
    if group.case is not BootstrapCase.EKS and carries and group.family is not AmiFamily.BOTTLEROCKET:
        assert str(made.arm64_taint) in text


@settings(max_examples=150, deadline=None)
@given(STACKS)
def test_the_parts_of_an_accepted_plan_agree_about_the_architecture(words: dict[str, Any]) -> None:
    if any(problem.severity is Severity.ERROR for problem in problems(words)):
        return
    made = plan(words)
    assert made.node_groups
    for group in made.node_groups:
        parts_agree(group, made)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(NEAR), min_size=1, max_size=3, unique=True))
def test_a_group_is_accepted_exactly_when_ec2_says_one_architecture(types: list[str]) -> None:
    accelerated = {name.startswith("g5g") for name in types}
    rejected = {
        p.rule for p in problems({"nodeGroups": {"web": {"instanceTypes": types}}}) if p.severity is Severity.ERROR
    }
    expected: set[str] = set()
    if len({said_of(name) for name in types}) > 1:
        expected = {"mixed-architectures"}
    elif len(accelerated) > 1:
        expected = {"mixed-accelerators"}
    assert rejected == expected
