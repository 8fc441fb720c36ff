"""Tags by which the cluster autoscaler finds a group, and knows a node before there is one."""

from __future__ import annotations

from dataclasses import replace

from multiarch.autoscaling.tags import build_autoscaler_tags
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.manifests.quantities import parse_quantity
from multiarch.nodes.model import BootstrapCase, CapacityType
from multiarch.nodes.resources import get_node_resources
from tests.nodes.builders import GroupOptions, node_group
from tests.stack.words import plan

# Spelled out here, letter by letter: a mistyped key means that a group at zero never grows.
TAINT = "k8s.io/cluster-autoscaler/node-template/taint/arch"
LABEL = "k8s.io/cluster-autoscaler/node-template/label/example.com/tier"
CAPACITY = "k8s.io/cluster-autoscaler/node-template/label/eks.amazonaws.com/capacityType"
CPU = "k8s.io/cluster-autoscaler/node-template/resources/cpu"
MEMORY = "k8s.io/cluster-autoscaler/node-template/resources/memory"
PODS = "k8s.io/cluster-autoscaler/node-template/resources/pods"
STORAGE = "k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage"
GPU = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"
NEURON = "k8s.io/cluster-autoscaler/node-template/resources/aws.amazon.com/neuron"
OPTIONS = GroupOptions(labels=(("example.com/tier", "batch"),), taints=("arch=arm64:NoSchedule", "empty:NoExecute"))


def test_a_managed_group_tells_labels_taints_capacity_type_and_what_an_empty_node_gives() -> None:
    group = node_group(AmiFamily.AL2023, BootstrapCase.EKS, Architecture.ARM64, OPTIONS)
    assert dict(build_autoscaler_tags(replace(group, capacity_type=CapacityType.SPOT), "shop-dev")) == {
        "k8s.io/cluster-autoscaler/enabled": "true",
        "k8s.io/cluster-autoscaler/shop-dev": "owned",
        LABEL: "batch",
        CAPACITY: "SPOT",
        TAINT: "arm64:NoSchedule",
        "k8s.io/cluster-autoscaler/node-template/taint/empty": ":NoExecute",
        CPU: "2030m",
        MEMORY: "6844Mi",
        PODS: "30",
        STORAGE: "45056Mi",
    }


def test_a_group_of_gpus_or_inferentia_tells_the_fewest_devices_that_a_node_may_have() -> None:
    group = node_group()
    types = (get_instance_type("g6.48xlarge"), get_instance_type("g6.xlarge"))
    assert dict(build_autoscaler_tags(replace(group, instance_types=types), "c"))[GPU] == "1"
    neuron = (get_instance_type("inf2.24xlarge"),)
    assert dict(build_autoscaler_tags(replace(group, instance_types=neuron), "c"))[NEURON] == "6"
    assert not {GPU, NEURON} & set(dict(build_autoscaler_tags(group, "c")))


def test_tags_are_sorted_and_every_group_of_a_plan_has_them() -> None:
    made = plan({"autoscaling": {"use": "cluster-autoscaler"}}).autoscaling.cluster_autoscaler
    assert made is not None
    assert [name for name, _ in made.tags] == ["web", "web-arm"]
    assert all(list(tags) == sorted(tags) for _, tags in made.tags)
    assert (TAINT, "arm64:NoSchedule") in dict(made.tags)["web-arm"]


def test_resources_are_allocatable_and_what_the_autoscaler_takes_for_its_own_kube_proxy() -> None:
    # m7g.large: 1930m, 29 pods. The autoscaler adds a static kube-proxy with 100m to a node that it knows by tags.
    group = replace(node_group(), instance_types=(get_instance_type("m7g.large"),), max_pods=29)
    given = get_node_resources(group)
    tags = dict(build_autoscaler_tags(group, "c"))
    assert (tags[CPU], tags[PODS]) == (f"{given['cpu'] + 100}m", str(given["pods"] + 1))
    assert parse_quantity(tags[MEMORY]) == given["memory"]
    assert parse_quantity(tags[STORAGE]) == given["ephemeral-storage"]


def test_a_group_of_several_types_tells_what_each_of_them_gives() -> None:
    types = tuple(map(get_instance_type, ("c7g.2xlarge", "r7g.xlarge", "m7g.xlarge")))
    tags = dict(build_autoscaler_tags(replace(node_group(), instance_types=types), "c"))
    small = dict(build_autoscaler_tags(replace(node_group(), instance_types=types[2:]), "c"))
    assert (tags[CPU], tags[MEMORY]) == (small[CPU], small[MEMORY])
