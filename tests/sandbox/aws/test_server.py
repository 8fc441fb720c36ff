"""How the server starts, what it says, and how it ends."""

from __future__ import annotations

import signal
import threading
import urllib.parse

import pytest

from sandbox.aws.remote import Remote
from tests.sandbox.served import Served, address, serving


def test_changes_are_counted_and_reads_are_not(aws: Served) -> None:
    ec2, remote = aws.client("ec2"), Remote(aws.endpoint)
    before = remote.changes()
    ec2.describe_instances()
    assert remote.changes() == before
    (made,) = ec2.run_instances(ImageId=aws.image(), MinCount=1, MaxCount=1)["Instances"]
    ec2.terminate_instances(InstanceIds=[made["InstanceId"]])
    assert remote.changes() == before + 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_ends_cleanly_on_a_signal(number: signal.Signals) -> None:
    with serving() as process:
        endpoint = address(process)
        assert urllib.parse.urlsplit(endpoint).hostname == "127.0.0.1"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0
        assert (out, err) == ("", "")


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
