"""Managed node groups: what they own, how they roll, what EKS rejects."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.aws.facts import AMI_TYPES, latest_release
from tests.sandbox.served import Served

ARM: dict[str, Any] = {"amiType": "AL2023_ARM_64_STANDARD", "instanceTypes": ["m7g.large"]}


class Shop:
    """A cluster to put node groups in."""

    def __init__(self, aws: Served) -> None:
        self.aws = aws
        self.eks, self.ec2 = aws.client("eks"), aws.client("ec2")
        self.autoscaling = aws.client("autoscaling")
        self.subnets = aws.cluster()["resourcesVpcConfig"]["subnetIds"]
        self.role = aws.role("node")

    def group(self, name: str = "arm", **more: Any) -> dict[str, Any]:
        settings = {"scalingConfig": {"minSize": 1, "maxSize": 3, "desiredSize": 2}, **more}
        made: dict[str, Any] = self.eks.create_nodegroup(
            clusterName="shop", nodegroupName=name, subnets=self.subnets, nodeRole=self.role, **settings
        )["nodegroup"]
        return made

    def described(self) -> dict[str, Any]:
        found: dict[str, Any] = self.eks.describe_nodegroup(clusterName="shop", nodegroupName="arm")["nodegroup"]
        return found

    def scaling_group(self) -> dict[str, Any]:
        names = [row["name"] for row in self.described()["resources"]["autoScalingGroups"]]
        rows = self.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=names)["AutoScalingGroups"]
        assert len(rows) == 1
        found: dict[str, Any] = rows[0]
        return found

    def running(self) -> list[dict[str, Any]]:
        state = [{"Name": "instance-state-name", "Values": ["running"]}]
        reservations = self.ec2.describe_instances(Filters=state)["Reservations"]
        return [row for reservation in reservations for row in reservation["Instances"]]

    def template(self, **data: Any) -> dict[str, str]:
        made = self.ec2.create_launch_template(
            LaunchTemplateName="team", LaunchTemplateData={"UserData": "aGk=", **data}
        )
        return {"id": made["LaunchTemplate"]["LaunchTemplateId"], "version": "1"}


@pytest.fixture
def shop(aws: Served) -> Shop:
    return Shop(aws)


def test_a_new_release_replaces_the_instances_and_nothing_else(shop: Shop) -> None:
    shop.group(**ARM, releaseVersion="1.35.2-20260801")
    name, before = shop.scaling_group()["AutoScalingGroupName"], shop.running()
    shop.eks.update_nodegroup_version(clusterName="shop", nodegroupName="arm", releaseVersion="1.35.2-20260901")
    after = shop.running()
    assert shop.scaling_group()["AutoScalingGroupName"] == name
    assert shop.described()["releaseVersion"] == "1.35.2-20260901"
    assert len(after) == 2
    assert {row["InstanceId"] for row in after}.isdisjoint(row["InstanceId"] for row in before)
    assert {row["ImageId"] for row in after}.isdisjoint(row["ImageId"] for row in before)


@pytest.mark.parametrize(
    ("kind", "old"),
    [(ARM, "1.35.2-20260901"), ({**ARM, "amiType": "BOTTLEROCKET_ARM_64"}, "1.51.9-0d4e8a1c")],
    ids=["by date", "by version"],
)
def test_a_new_template_version_takes_the_newest_release_and_there_is_no_way_back(
    shop: Shop, kind: dict[str, Any], old: str
) -> None:
    template = shop.template()
    shop.group(**kind, launchTemplate=template, releaseVersion=old)
    shop.ec2.create_launch_template_version(LaunchTemplateName="team", LaunchTemplateData={"UserData": "aG8="})
    new = {**template, "version": "2"}
    shop.eks.update_nodegroup_version(clusterName="shop", nodegroupName="arm", launchTemplate=new)
    assert shop.described()["launchTemplate"]["version"] == "2"
    assert shop.described()["releaseVersion"] == latest_release(AMI_TYPES[kind["amiType"]], "1.35")
    with pytest.raises(ClientError, match="You cannot roll back a node group to an earlier"):
        shop.eks.update_nodegroup_version(clusterName="shop", nodegroupName="arm", releaseVersion=old)


def test_the_image_of_a_template_stays_when_the_template_changes(shop: Shop) -> None:
    image = shop.aws.image("arm64")
    template = shop.template(ImageId=image)
    shop.group(instanceTypes=["m7g.large"], launchTemplate=template)
    more = {"ImageId": image, "UserData": "aG8="}
    shop.ec2.create_launch_template_version(LaunchTemplateName="team", LaunchTemplateData=more)
    new = {**template, "version": "2"}
    shop.eks.update_nodegroup_version(clusterName="shop", nodegroupName="arm", launchTemplate=new)
    assert {row["ImageId"] for row in shop.running()} == {image}


def test_a_custom_image_brings_its_own_architecture(shop: Shop) -> None:
    image = shop.aws.image("arm64")
    template = shop.template(ImageId=image)
    with pytest.raises(ClientError, match="not a valid instance type"):
        shop.group(instanceTypes=["m7i.large"], launchTemplate=template)
    group = shop.group(instanceTypes=["m7g.large"], launchTemplate=template)
    assert group["amiType"] == "CUSTOM"
    for key, value in {"version": "1.35", "releaseVersion": "1.35.4-20261106", "amiType": ARM["amiType"]}.items():
        with pytest.raises(ClientError, match="when specifying an image id"):
            shop.group("other", instanceTypes=["m7g.large"], launchTemplate=template, **{key: value})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"amiType": "AL2023_x86_64_STANDARD", "instanceTypes": ["m7g.large"]}, "not a valid instance type"),
        ({**ARM, "instanceTypes": ["m7g.large", "m7i.large"]}, "m7i.large.*not a valid instance type"),
        ({**ARM, "amiType": "AL2_ARM_64"}, "only supported for kubernetes versions 1.32"),
        ({**ARM, "amiType": "SOMETHING"}, "enum value set"),
        ({**ARM, "taints": [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}]}, "enum value set"),
        ({**ARM, "releaseVersion": "1.34.6-20261106"}, "not valid for kubernetes version 1.35"),
        ({**ARM, "version": "1.36"}, "does not fit cluster version"),
        ({**ARM, "scalingConfig": {"minSize": 3, "maxSize": 2, "desiredSize": 2}}, "must be in this order"),
        ({**ARM, "capacityType": "CHEAP"}, "enum value set"),
        ({**ARM, "labels": {"kubernetes.io/arch": "arm64"}}, "reserved prefixes"),
    ],
)
def test_what_eks_rejects_is_rejected(shop: Shop, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ClientError, match=f"InvalidParameterException.*{message}"):
        shop.group(**settings)
    assert shop.eks.list_nodegroups(clusterName="shop")["nodegroups"] == []
    assert shop.running() == []
