"""The labels of nodes that do not exist yet: of node groups and of NodePools."""

from __future__ import annotations

from dataclasses import replace

import pytest

from multiarch.autoscaling.node_labels import NodeLabels, build_node_labels, find_region
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.nodes.model import BootstrapCase, CapacityType
from tests.components.autoscaled import KARPENTER
from tests.nodes.builders import GroupOptions, node_group

KUBERNETES = {
    "beta.kubernetes.io/arch": "arm64",
    "beta.kubernetes.io/instance-type": "m7g.large",
    "beta.kubernetes.io/os": "linux",
    "failure-domain.beta.kubernetes.io/region": "eu-west-1",
    "failure-domain.beta.kubernetes.io/zone": "eu-west-1a",
    "kubernetes.io/arch": "arm64",
    "kubernetes.io/os": "linux",
    "node.kubernetes.io/instance-type": "m7g.large",
    "topology.kubernetes.io/region": "eu-west-1",
    "topology.kubernetes.io/zone": "eu-west-1a",
}
"""What the kubelet and AWS's cloud provider set, on every node."""
OWN = GroupOptions(labels=(("example.com/tier", "batch"),))


def of_group(case: BootstrapCase, **more: str) -> NodeLabels:
    group = replace(node_group(AmiFamily.AL2023, case, Architecture.ARM64, OWN), capacity_type=CapacityType.SPOT)
    return build_node_labels(group, get_instance_type("m7g.large"), **more)


def test_a_managed_group_adds_its_own_labels_and_those_of_eks() -> None:
    assert of_group(BootstrapCase.EKS, zone="eu-west-1a").known == {
        **KUBERNETES,
        "example.com/tier": "batch",
        "eks.amazonaws.com/capacityType": "SPOT",
    }


def test_a_self_managed_group_adds_its_own_labels_alone() -> None:
    labels = of_group(BootstrapCase.SELF_MANAGED, zone="eu-west-1a")
    assert labels.known == {**KUBERNETES, "example.com/tier": "batch"}
    assert not any(map(labels.is_unknown, ("eks.amazonaws.com/nodegroup", "eks.amazonaws.com/capacityType")))


def test_a_node_pool_adds_its_own_labels_and_those_of_karpenter() -> None:
    pool = KARPENTER.pools[0]
    assert (pool.capacities[0].capacity_type, pool.labels) == (CapacityType.SPOT, (("pool", "general"),))
    assert build_node_labels(pool, get_instance_type("m7g.large"), zone="eu-west-1a").known == {
        **KUBERNETES,
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "karpenter.k8s.aws/instance-category": "m",
        "karpenter.k8s.aws/instance-cpu": "2",
        "karpenter.k8s.aws/instance-family": "m7g",
        "karpenter.k8s.aws/instance-generation": "7",
        "karpenter.k8s.aws/instance-hypervisor": "nitro",
        "karpenter.k8s.aws/instance-memory": "8192",
        "karpenter.k8s.aws/instance-size": "large",
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/initialized": "true",
        "karpenter.sh/nodepool": pool.name,
        "karpenter.sh/registered": "true",
        "pool": "general",
    }


@pytest.mark.parametrize(
    "key",
    [
        "eks.amazonaws.com/nodegroup",
        "eks.amazonaws.com/nodegroup-image",
        "eks.amazonaws.com/sourceLaunchTemplateId",
        "kubernetes.io/hostname",
        "nvidia.com/gpu.present",
        "topology.ebs.csi.aws.com/zone",
        "topology.k8s.aws/zone-id",
        "topology.kubernetes.io/zone",
    ],
)
def test_what_aws_and_agents_set_when_the_node_exists_is_unknown(key: str) -> None:
    labels = of_group(BootstrapCase.EKS)
    assert key not in labels.known
    assert labels.is_unknown(key)


@pytest.mark.parametrize(
    "key",
    [
        "disk",
        "eks.amazonaws.com/compute-type",
        "example.com/other",
        "karpenter.k8s.aws/instance-ebs-bandwidth",
        "karpenter.sh/nodepool",
        "node-role.kubernetes.io/control-plane",
    ],
)
def test_what_nobody_sets_on_a_group_is_neither_known_nor_unknown(key: str) -> None:
    labels = of_group(BootstrapCase.EKS)
    assert key not in labels.known
    assert not labels.is_unknown(key)


def test_eks_sets_nothing_on_nodes_of_karpenter_whose_own_labels_may_be_unknown() -> None:
    labels = build_node_labels(KARPENTER.pools[0], get_instance_type("m7g.large"))
    assert not labels.is_unknown("eks.amazonaws.com/nodegroup")
    assert labels.is_unknown("karpenter.k8s.aws/instance-ebs-bandwidth")


def test_a_region_counts_without_a_zone_and_a_zone_tells_its_region() -> None:
    assert of_group(BootstrapCase.EKS, region="eu-west-1").known["topology.kubernetes.io/region"] == "eu-west-1"
    assert find_region(["us-east-1a", "us-east-1-bos-1a"]) == "us-east-1"
    assert find_region(["us-east-1a", "us-east-2a"]) is None
    assert find_region(["zone-1", "zone-2"]) is None
