"""Instances as EC2 and Auto Scaling describe them: request shapes are checked by botocore."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.verify.nodes import instances as reading
from multiarch.verify.nodes.model import Image, LaunchTemplateVersion

LAUNCHED = datetime(2026, 11, 21, tzinfo=UTC)
KEYS = {"region_name": "eu-west-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}


@pytest.fixture
def ec2() -> Iterator[tuple[Any, Stubber]]:
    client = boto3.session.Session().client("ec2", **KEYS)
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


def described(*identifiers: str, **more: Any) -> dict[str, Any]:
    rows = [
        {
            "InstanceId": each,
            "InstanceType": "m7g.large",
            "ImageId": "ami-1",
            "Architecture": "arm64",
            "State": {"Name": "running"},
            "LaunchTime": LAUNCHED,
            **more,
        }
        for each in identifiers
    ]
    return {"Reservations": [{"Instances": rows}]}


def test_instances_are_found_by_every_tag_page_by_page_and_once(ec2: tuple[Any, Stubber]) -> None:
    client, stub = ec2
    stub.add_response("describe_instances", {**described("i-2"), "NextToken": "more"}, {"Filters": ANY})
    stub.add_response("describe_instances", described("i-1"), {"Filters": ANY, "NextToken": "more"})
    for _ in range(4):
        stub.add_response("describe_instances", described("i-1"), {"Filters": ANY})
    by_id = [{"Name": "instance-id", "Values": ["i-9"]}]
    stub.add_response("describe_instances", described("i-9", State={"Name": "terminated"}), {"Filters": by_id})
    found = reading.find_instances(client, "shop", ["i-1", "i-9"])
    assert [(each.id, each.state) for each in found] == [("i-1", "running"), ("i-2", "running"), ("i-9", "terminated")]
    assert {each.architecture for each in found} == {Architecture.ARM64}


def test_windows_instances_are_omitted_like_their_nodes(ec2: tuple[Any, Stubber]) -> None:
    client, stub = ec2
    stub.add_response("describe_instances", described("i-1", Platform="windows"), {"Filters": ANY})
    for _ in range(4):
        stub.add_response("describe_instances", described("i-2"), {"Filters": ANY})
    assert [each.id for each in reading.find_instances(client, "shop")] == ["i-2"]


def one(ec2: tuple[Any, Stubber], **more: Any) -> Any:  # noqa: ANN401
    client, stub = ec2
    stub.add_response("describe_instances", described("i-1", **more), {"Filters": ANY})
    for _ in range(4):
        stub.add_response("describe_instances", described(), {"Filters": ANY})
    (found,) = reading.find_instances(client, "shop")
    return found


def test_an_image_that_is_gone_keeps_the_architecture_of_the_instance(ec2: tuple[Any, Stubber]) -> None:
    instance = one(ec2)
    client, stub = ec2
    stub.add_response("describe_images", {"Images": []}, {"Filters": [{"Name": "image-id", "Values": ["ami-1"]}]})
    (found,) = reading.with_images(client, [instance])
    assert found.image == Image("ami-1", "", Architecture.ARM64)
    images = {"Images": [{"ImageId": "ami-1", "Name": "amazon-eks-node", "Architecture": "x86_64"}]}
    stub.add_response("describe_images", images, {"Filters": ANY})
    (found,) = reading.with_images(client, [instance])
    assert found.image == Image("ami-1", "amazon-eks-node", Architecture.AMD64)


@pytest.mark.parametrize(("written", "current"), [("5", "5"), ("$Latest", "")])
def test_a_groups_version_is_a_number_or_not_known(ec2: tuple[Any, Stubber], written: str, current: str) -> None:
    instance = one(ec2, Tags=[{"Key": "aws:autoscaling:groupName", "Value": "arm"}])
    autoscaling = boto3.session.Session().client("autoscaling", **KEYS)
    group = {
        "AutoScalingGroupName": "arm",
        "MinSize": 1,
        "MaxSize": 1,
        "DesiredCapacity": 1,
        "DefaultCooldown": 0,
        "AvailabilityZones": [],
        "HealthCheckType": "EC2",
        "CreatedTime": LAUNCHED,
        "MixedInstancesPolicy": {
            "LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-1", "Version": written}}
        },
        "Instances": [
            {
                "InstanceId": "i-1",
                "AvailabilityZone": "eu-west-1a",
                "LifecycleState": "InService",
                "HealthStatus": "Healthy",
                "ProtectedFromScaleIn": False,
                "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "3"},
            }
        ],
    }
    with Stubber(autoscaling) as groups:
        groups.add_response(
            "describe_auto_scaling_groups", {"AutoScalingGroups": [group]}, {"AutoScalingGroupNames": ["arm"]}
        )
        (found,) = reading.with_scaling_groups(autoscaling, [instance])
    assert (found.lifecycle, found.template) == ("InService", LaunchTemplateVersion("lt-1", "3", current))


def test_console_output_of_older_types_is_read_without_the_latest(ec2: tuple[Any, Stubber]) -> None:
    client, stub = ec2
    stub.add_client_error("get_console_output", "UnsupportedOperation")
    stub.add_response("get_console_output", {"Output": "booted"}, {"InstanceId": "i-1"})
    assert reading.get_console_output(client, "i-1") == "booted"
    stub.add_response("get_console_output", {}, {"InstanceId": "i-1", "Latest": True})
    assert reading.get_console_output(client, "i-1") == ""


def test_a_cluster_that_does_not_exist_says_what_to_do() -> None:
    eks = boto3.session.Session().client("eks", **KEYS)
    with Stubber(eks) as stub:
        stub.add_client_error("describe_cluster", "ResourceNotFoundException")
        with pytest.raises(MultiarchError, match=r"There is no EKS cluster shop in eu-west-1\. Check") as raised:
            reading.get_kubernetes_version(eks, "shop", region="eu-west-1")
    assert raised.value.exit_code == 2
