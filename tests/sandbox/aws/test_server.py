"""How the server starts, what it says, and how it ends."""

from __future__ import annotations

import signal
import threading
import urllib.parse

import pytest

from tests.sandbox.served import REGION, Served, address, serving


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_ends_cleanly_on_a_signal(number: signal.Signals) -> None:
    with serving() as process:
        endpoint = address(process)
        assert urllib.parse.urlsplit(endpoint).hostname == "127.0.0.1"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0
        assert (out, err) == ("", "")


def test_two_servers_take_two_ports() -> None:
    with serving() as one, serving() as other:
        assert address(one) != address(other)


def test_a_question_without_credentials_scope_is_answered_too(aws: Served) -> None:
    aws.empty()
    assert aws.client("sts").get_caller_identity()["Account"] == "123456789012"


def test_waiting_for_a_message_keeps_nobody_else_waiting(aws: Served) -> None:
    sqs, ec2 = aws.client("sqs"), aws.client("ec2")
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    waiting = threading.Thread(target=sqs.receive_message, kwargs={"QueueUrl": url, "WaitTimeSeconds": 20})
    waiting.start()
    ec2.describe_vpcs()
    assert waiting.is_alive()
    sqs.send_message(QueueUrl=url, MessageBody="comes while the other waits")
    waiting.join(timeout=15)
    assert not waiting.is_alive()


def test_managed_policies_of_aws_can_be_attached() -> None:
    with serving() as process:
        aws = Served(address(process))
        aws.role("node")
        for name in ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"):
            aws.client("iam").attach_role_policy(RoleName="node", PolicyArn=f"arn:aws:iam::aws:policy/{name}")
        attached = aws.client("iam").list_attached_role_policies(RoleName="node")["AttachedPolicies"]
    assert len(attached) == 3


def test_an_instance_takes_its_interface_and_root_volume_with_it(aws: Served) -> None:
    ec2 = aws.client("ec2")
    _, subnets = aws.network()
    image = aws.image("arm64")
    mapping = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 20}}]
    made = ec2.run_instances(
        ImageId=image,
        InstanceType="m7g.large",
        MinCount=1,
        MaxCount=1,
        SubnetId=subnets[0],
        BlockDeviceMappings=mapping,
    )
    assert len(ec2.describe_network_interfaces()["NetworkInterfaces"]) == 1
    ec2.terminate_instances(InstanceIds=[made["Instances"][0]["InstanceId"]])
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []
    assert ec2.describe_volumes()["Volumes"] == []


def test_user_data_of_a_second_template_version_reaches_the_instances(aws: Served) -> None:
    ec2, group = aws.client("ec2"), aws.client("autoscaling")
    _, subnets = aws.network()
    data = {"ImageId": aws.image(), "InstanceType": "m7i.large", "UserData": "Zmlyc3Q="}
    ec2.create_launch_template(LaunchTemplateName="team", LaunchTemplateData=data)
    ec2.create_launch_template_version(LaunchTemplateName="team", LaunchTemplateData={**data, "UserData": "c2Vjb25k"})
    group.create_auto_scaling_group(
        AutoScalingGroupName="g",
        MinSize=1,
        MaxSize=1,
        VPCZoneIdentifier=subnets[0],
        LaunchTemplate={"LaunchTemplateName": "team", "Version": "2"},
    )
    instance = group.describe_auto_scaling_groups()["AutoScalingGroups"][0]["Instances"][0]["InstanceId"]
    answer = ec2.describe_instance_attribute(InstanceId=instance, Attribute="userData")
    assert answer["UserData"]["Value"] == "c2Vjb25k"


def test_an_instance_refresh_replaces_every_instance(aws: Served) -> None:
    ec2, group = aws.client("ec2"), aws.client("autoscaling")
    _, subnets = aws.network()
    data = {"ImageId": aws.image(), "InstanceType": "m7i.large"}
    ec2.create_launch_template(LaunchTemplateName="team", LaunchTemplateData=data)
    group.create_auto_scaling_group(
        AutoScalingGroupName="g",
        MinSize=2,
        MaxSize=2,
        VPCZoneIdentifier=subnets[0],
        LaunchTemplate={"LaunchTemplateName": "team", "Version": "1"},
    )

    def running() -> set[str]:
        return {row["InstanceId"] for row in group.describe_auto_scaling_groups()["AutoScalingGroups"][0]["Instances"]}

    before = running()
    group.start_instance_refresh(AutoScalingGroupName="g", Preferences={"MinHealthyPercentage": 50})
    assert len(running()) == 2
    assert before.isdisjoint(running())


def test_the_region_of_a_request_is_the_region_of_its_images(aws: Served) -> None:
    name = "/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id"
    image = aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    assert aws.client("ec2").describe_images(ImageIds=[image])["Images"][0]["Architecture"] == "arm64"
    assert aws.client("ec2").meta.region_name == REGION
