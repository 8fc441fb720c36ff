"""Nodes of the bridge look like EKS's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.nodes import UNREGISTERED, for_karpenter, for_managed_group, node, status


def instance(kind: str, architecture: str) -> dict[str, Any]:
    return {
        "InstanceId": "i-0123456789abcdef0",
        "InstanceType": kind,
        "Architecture": architecture,
        "Placement": {"AvailabilityZone": "us-east-1b"},
        "PrivateDnsName": "ip-10-0-0-7.ec2.internal",
    }


def test_a_node_of_karpenters_is_unregistered_and_knows_its_instance() -> None:
    made = node(instance("m7g.large", "arm64"), for_karpenter({}))
    assert made["metadata"]["name"] == "ip-10-0-0-7.ec2.internal"
    assert made["spec"] == {"providerID": "aws:///us-east-1b/i-0123456789abcdef0", "taints": [UNREGISTERED]}
    labels = made["metadata"]["labels"]
    assert labels["kubernetes.io/arch"] == "arm64"
    assert labels["node.kubernetes.io/instance-type"] == "m7g.large"
    assert labels["topology.kubernetes.io/zone"] == "us-east-1b"
    assert labels["topology.kubernetes.io/region"] == "us-east-1"


def test_a_node_of_a_managed_group_has_the_groups_labels_and_taints_in_kubernetes_spelling() -> None:
    group = {
        "nodegroupName": "arm",
        "labels": {"team": "checkout"},
        "taints": [{"key": "arch", "value": "arm64", "effect": "NO_SCHEDULE"}],
    }
    made = node(instance("m7g.large", "arm64"), for_managed_group(group))
    assert made["spec"]["taints"] == [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}]
    assert made["metadata"]["labels"].items() >= {"team": "checkout", "eks.amazonaws.com/nodegroup": "arm"}.items()


def test_an_image_of_the_other_architecture_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"m7g\.large is arm64, but an image for amd64"):
        node(instance("m7g.large", "x86_64"), for_karpenter({}))


def test_allocatable_is_capacity_less_what_eks_sets_aside() -> None:
    made = status(instance("m7g.large", "arm64"), for_karpenter({}))
    assert made["capacity"] == {"cpu": "2", "memory": "7577Mi", "pods": "29", "ephemeral-storage": "20480Mi"}
    assert made["allocatable"]["cpu"] == "1930m"
    assert made["allocatable"]["memory"] == f"{7577 - 255 - 11 * 29 - 100}Mi"
    assert made["nodeInfo"]["architecture"] == "arm64"


def test_disk_and_pods_are_the_node_classs_where_it_says_so() -> None:
    said = {"kubelet": {"maxPods": 17}, "blockDeviceMappings": [{"ebs": {"volumeSize": "50Gi"}}]}
    capacity = status(instance("m7g.large", "arm64"), for_karpenter(said))["capacity"]
    assert (capacity["pods"], capacity["ephemeral-storage"]) == ("17", "51200Mi")
