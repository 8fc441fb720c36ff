"""Tags by which the cluster autoscaler finds a group, and knows a node before there is one."""

from __future__ import annotations

from dataclasses import replace

from multiarch.autoscaling.tags import autoscaler_tags
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import instance_type
from multiarch.nodes.model import BootstrapCase, CapacityType, NodeGroupKind
from tests.nodes.builders import GroupOptions, node_group
from tests.stack.words import plan

# Spelled out here, letter by letter: a mistyped key means that a group at zero never grows.
TAINT = "k8s.io/cluster-autoscaler/node-template/taint/arch"
LABEL = "k8s.io/cluster-autoscaler/node-template/label/example.com/tier"
CAPACITY = "k8s.io/cluster-autoscaler/node-template/label/eks.amazonaws.com/capacityType"
STORAGE = "k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage"
GPU = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"
NEURON = "k8s.io/cluster-autoscaler/node-template/resources/aws.amazon.com/neuron"
OPTIONS = GroupOptions(labels=(("example.com/tier", "batch"),), taints=("arch=arm64:NoSchedule", "empty:NoExecute"))


def test_a_managed_group_tells_labels_taints_disk_and_capacity_type() -> None:
    group = node_group(AmiFamily.AL2023, BootstrapCase.EKS, Architecture.ARM64, OPTIONS)
    assert dict(autoscaler_tags(replace(group, capacity_type=CapacityType.SPOT), "shop-dev")) == {
        "k8s.io/cluster-autoscaler/enabled": "true",
        "k8s.io/cluster-autoscaler/shop-dev": "owned",
        LABEL: "batch",
        CAPACITY: "SPOT",
        TAINT: "arm64:NoSchedule",
        "k8s.io/cluster-autoscaler/node-template/taint/empty": ":NoExecute",
        STORAGE: "44Gi",
    }


def test_a_self_managed_group_has_no_label_of_eks() -> None:
    group = node_group(AmiFamily.AL2023, BootstrapCase.SELF_MANAGED, Architecture.ARM64, OPTIONS)
    assert group.kind is NodeGroupKind.SELF_MANAGED
    assert CAPACITY not in dict(autoscaler_tags(group, "shop-dev"))


def test_a_group_of_gpus_or_inferentia_tells_the_fewest_devices_that_a_node_may_have() -> None:
    group = node_group()
    types = (instance_type("g6.48xlarge"), instance_type("g6.xlarge"))
    assert dict(autoscaler_tags(replace(group, instance_types=types), "c"))[GPU] == "1"
    neuron = (instance_type("inf2.24xlarge"),)
    assert dict(autoscaler_tags(replace(group, instance_types=neuron), "c"))[NEURON] == "6"
    assert not {GPU, NEURON} & set(dict(autoscaler_tags(group, "c")))


def test_tags_are_sorted_and_every_group_of_a_plan_has_them() -> None:
    made = plan({"autoscaling": {"use": "cluster-autoscaler"}}).autoscaling.cluster_autoscaler
    assert made is not None
    assert [name for name, _ in made.tags] == ["web", "web-arm"]
    assert all(list(tags) == sorted(tags) for _, tags in made.tags)
    assert (TAINT, "arm64:NoSchedule") in dict(made.tags)["web-arm"]
