"""The nodes of every stack's groups register with the plan's labels and taints, by their rendered user data."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from multiarch.autoscaling.node_labels import build_group_labels
from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import BootstrapCase, NodeGroupPlan
from multiarch.nodes.user_data import render_user_data
from sandbox.cluster.bootstrap.groups import ManagedGroup, expected, group_start
from sandbox.cluster.bootstrap.model import KubeletStart
from sandbox.cluster.bootstrap.registration import registration
from tests.nodes.builders import CLUSTER, node_group, usual_options
from tests.sandbox.cluster.bootstrap.stacks import STACKS, groups_of, name_of

OWNED = (BootstrapCase.CUSTOM_AMI, BootstrapCase.SELF_MANAGED)


def usual(family: AmiFamily, case: BootstrapCase, architecture: Architecture = Architecture.ARM64) -> NodeGroupPlan:
    return node_group(family, case, architecture, usual_options(family, case, architecture))


def started(group: NodeGroupPlan) -> KubeletStart:
    return group_start(group, render_user_data(group, CLUSTER), CLUSTER)


@pytest.mark.parametrize("stack", STACKS, ids=name_of)
def test_every_group_of_a_stack_registers_as_planned(stack: Path) -> None:
    groups = groups_of(stack)
    assert groups
    for group in groups:
        start = started(group)
        assert registration(start) == expected(group), group.name
        assert start.config["clusterDNS"] == ["172.20.0.10"]


@pytest.mark.parametrize(("family", "case", "architecture"), list(product(NODE_FAMILIES, BootstrapCase, Architecture)))
def test_every_family_registers_as_planned_in_every_case(
    family: AmiFamily, case: BootstrapCase, architecture: Architecture
) -> None:
    group = usual(family, case, architecture)
    start = started(group)
    found = registration(start)
    assert found == expected(group)
    assert dict(group.labels).items() <= found.labels.items()
    assert found.taints == group.taints
    assert bool(found.taints) is (architecture is Architecture.ARM64)


@pytest.mark.parametrize(("family", "case"), list(product(NODE_FAMILIES, OWNED)))
def test_max_pods_and_flags_of_the_plan_reach_the_kubelet(family: AmiFamily, case: BootstrapCase) -> None:
    start = started(usual(family, case))
    assert ("--max-pods=58" in start.flags) is (start.config.get("maxPods") is None)
    assert start.config.get("maxPods") in (None, 58)
    assert ("--image-gc-high-threshold=70" in start.flags) is (family is not AmiFamily.BOTTLEROCKET)


def test_max_pods_of_the_plan_override_those_of_eks() -> None:
    start = started(usual(AmiFamily.AL2023, BootstrapCase.EKS))
    assert "--max-pods=58" in start.flags  # a flag overrides the configuration
    assert start.config["maxPods"] == 29
    assert started(usual(AmiFamily.BOTTLEROCKET, BootstrapCase.EKS)).config["maxPods"] == 58


def test_eks_adds_its_labels_to_those_of_the_node_group_api() -> None:
    group = usual(AmiFamily.AL2023, BootstrapCase.EKS)
    made = ManagedGroup("batch-1", "ami-1", "lt-1", "3")
    labels = registration(group_start(group, "", CLUSTER, made)).labels
    assert labels.items() > build_group_labels(group).items()
    assert {key: labels[key] for key in labels.keys() - build_group_labels(group).keys()} == {
        "eks.amazonaws.com/nodegroup": "batch-1",
        "eks.amazonaws.com/nodegroup-image": "ami-1",
        "eks.amazonaws.com/sourceLaunchTemplateId": "lt-1",
        "eks.amazonaws.com/sourceLaunchTemplateVersion": "3",
    }
