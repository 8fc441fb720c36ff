"""What answers of EKS, EC2 and Auto Scaling say of groups, where the clusters of the sandbox do not have it."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.nodes.model import CapacityType
from multiarch.observed.eks.answers import (
    find_image_family,
    read_managed_group,
    read_scaling_group,
    read_settings,
)
from multiarch.observed.eks.model import NodeSettings, ObservedGroup

IMAGE = {"ImageOwnerAlias": "amazon", "Name": "amazon-eks-node-al2023-x86_64-standard-1.34-v20261106"}
SPEC = {"LaunchTemplateId": "lt-1", "Version": "1"}
DEVICES = ("/dev/xvdb", "/dev/xvda")


def managed(**more: Any) -> ObservedGroup:
    answer = {"nodegroupName": "web", "instanceTypes": ["m7i.large"], "amiType": "AL2023_x86_64_STANDARD", **more}
    return read_managed_group(answer, None, None, {})


def scaling(settings: NodeSettings | None, image: dict[str, str] | None = None, **more: Any) -> ObservedGroup:
    sizes = {"MinSize": 0, "DesiredCapacity": 1, "MaxSize": 2}
    return read_scaling_group({"AutoScalingGroupName": "web", **sizes, **more}, settings, image or IMAGE)


def mixed(*overrides: dict[str, Any], **shares: int) -> dict[str, Any]:
    template = {"LaunchTemplateSpecification": SPEC, "Overrides": list(overrides)}
    return {"LaunchTemplate": template, "InstancesDistribution": shares}


@pytest.mark.parametrize(
    ("image", "family"),
    [
        (IMAGE, (AmiFamily.AL2023, False)),
        ({**IMAGE, "Name": "amazon-eks-node-1.32-v20251120"}, (AmiFamily.AL2, False)),
        ({**IMAGE, "Name": "bottlerocket-aws-k8s-1.34-fips-x86_64-v1.52.0"}, (AmiFamily.BOTTLEROCKET, True)),
        ({**IMAGE, "ImageOwnerAlias": "self"}, (None, False)),
        ({**IMAGE, "Name": "al2023-ami-minimal"}, (None, False)),
        (None, (None, False)),
    ],
)
def test_the_family_of_an_image_of_eks_follows_from_its_name(
    image: dict[str, str] | None, family: tuple[AmiFamily | None, bool]
) -> None:
    assert find_image_family(image) == family


def test_settings_name_what_a_group_of_a_stack_does_not_have() -> None:
    data = {
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 4}},
            {"DeviceName": "/dev/xvdb", "Ebs": {"VolumeSize": 90, "KmsKeyId": "k", "VolumeType": "io2", "Iops": 9000}},
        ],
        "KeyName": "ops",
        "Placement": {"GroupName": "near"},
        "NetworkInterfaces": [{"Groups": ["sg-2"], "InterfaceType": "efa"}],
        "SecurityGroupIds": ["sg-1"],
        "InstanceMarketOptions": {"MarketType": "spot"},
        "IamInstanceProfile": {"Arn": "arn:aws:iam::1:instance-profile/path/nodes"},
    }
    found = read_settings(data, DEVICES)
    assert (found.disk_size, found.hop_limit, found.spot, found.profile) == (90, 1, True, "nodes")
    assert found.security_groups == ("sg-1", "sg-2")
    said = "; ".join(found.own)
    for word in ("SSH key", "placement group", "EFA", "KMS key", "io2", "IOPS"):
        assert word in said
    assert read_settings({}, DEVICES) == NodeSettings()


def test_a_managed_group() -> None:
    taints = [{"key": "a", "effect": "NO_EXECUTE"}]
    found = managed(capacityType="SPOT", taints=taints, nodeRepairConfig={"enabled": True}, diskSize=30)
    assert (found.capacity_type, found.taints) == (CapacityType.SPOT, (parse_taint("a:NoExecute"),))
    assert (found.settings.own, found.settings.disk_size) == (("node auto repair",), 30)
    assert managed(capacityType="CAPACITY_BLOCK").why_not == "capacity of the type CAPACITY_BLOCK can't be declared"
    assert managed(status="DELETING").why_not == "it is being deleted"
    windows = managed(amiType="WINDOWS_CORE_2025_x86_64", instanceTypes=["m99.large"])
    assert (windows.family, windows.architecture) == (AmiFamily.WINDOWS, Architecture.AMD64)
    assert managed(nodegroupName="web-20260427162218000000000003").short_name == "web"
    own = read_managed_group({"nodegroupName": "a", "amiType": "CUSTOM"}, NodeSettings(image="ami-1"), None, {})
    assert (own.family, own.architecture) == (None, None)


def test_a_self_managed_group_buys_spot_or_both() -> None:
    spot = scaling(
        NodeSettings(), MixedInstancesPolicy=mixed({"InstanceType": "c7i.large"}, OnDemandPercentageAboveBaseCapacity=0)
    )
    assert (spot.instance_types, spot.capacity_type, spot.settings.own) == (("c7i.large",), CapacityType.SPOT, ())
    both = scaling(NodeSettings(), MixedInstancesPolicy=mixed(OnDemandPercentageAboveBaseCapacity=40))
    assert both.capacity_type is CapacityType.ON_DEMAND
    assert "mix of on-demand and spot" in both.settings.own[0]
    weighted = scaling(
        NodeSettings(), MixedInstancesPolicy=mixed({"InstanceType": "c7i.large", "WeightedCapacity": "2"})
    )
    assert weighted.settings.own == ("its weighted capacity",)


@pytest.mark.parametrize(
    ("settings", "more", "why"),
    [
        (None, {}, "it has a launch configuration, which is not read"),
        (
            NodeSettings(),
            {"MixedInstancesPolicy": mixed({"InstanceRequirements": {"VCpuCount": {}}})},
            "by requirements",
        ),
        (NodeSettings(user_data=base64.b64encode(gzip.compress(b"x")).decode()), {}, "can't be read: it is compressed"),
        (NodeSettings(user_data="#!/bin/sh\nx --node-labels=a=$B"), {}, "its labels have a variable: a=$B"),
    ],
)
def test_a_self_managed_group_that_can_not_be_read_says_why(
    settings: NodeSettings | None, more: dict[str, Any], why: str
) -> None:
    assert why in scaling(settings, **more).why_not


AL2 = """#!/bin/bash
TEAM=web
/etc/eks/bootstrap.sh c --kubelet-extra-args '--node-labels=team=$TEAM,x=y --register-with-taints=a=b:NoSchedule'
"""
AL2023 = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

kind: NodeConfig
spec:
  kubelet:
    flags:
    - --node-labels=team=web,x=y
    - --register-with-taints=a=b:NoSchedule
--//--
"""
BOTTLEROCKET = """[settings.kubernetes.node-labels]
team = "web"
x = "y"
[settings.kubernetes.node-taints]
a = "b:NoSchedule"
"""


@pytest.mark.parametrize("user_data", [AL2, AL2023, BOTTLEROCKET], ids=["AL2", "AL2023", "Bottlerocket"])
def test_labels_and_taints_of_self_managed_nodes_are_those_of_their_user_data(user_data: str) -> None:
    found = scaling(NodeSettings(user_data=base64.b64encode(user_data.encode()).decode()))
    assert (found.labels, found.taints) == ({"team": "web", "x": "y"}, (parse_taint("a=b:NoSchedule"),))
    assert found.settings.own == ("its user data, but for labels and taints",)
