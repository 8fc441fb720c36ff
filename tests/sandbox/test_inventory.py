"""What the sandbox's AWS holds, counted through boto3 at a real server."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from multiarch.errors import OutsideError
from multiarch.observed.eks.model import ObservedGroup
from multiarch.runs import eks_clusters
from sandbox import inventory, processes, server, summary, vpc
from sandbox.layout import Layout
from sandbox.state import Server

REGION = "eu-central-1"


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return Layout(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def running(layout: Layout) -> Iterator[Server]:
    started = server.start(layout)
    yield started
    assert processes.stop_session(started.process)


@pytest.fixture(scope="module")
def aws(running: Server) -> inventory.Aws:
    return inventory.Aws(running.url, REGION)


def test_terminated_instances_and_keys_that_wait_for_deletion_are_gone(aws: inventory.Aws) -> None:
    image = aws.client("ec2").describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    reserved = aws.client("ec2").run_instances(ImageId=image, InstanceType="m7g.large", MinCount=1, MaxCount=1)
    instance = reserved["Instances"][0]["InstanceId"]
    key = aws.client("kms").create_key()["KeyMetadata"]["KeyId"]
    found = aws.everything()
    assert found["instances"] == (instance,)
    assert found["KMS keys"] == (key,)
    aws.client("ec2").terminate_instances(InstanceIds=[instance])
    aws.client("kms").schedule_key_deletion(KeyId=key)
    found = aws.everything()
    assert "instances" not in found
    assert "KMS keys" not in found


def test_a_server_that_is_gone_is_an_error_from_outside(tmp_path: Path) -> None:
    started = server.start(Layout(tmp_path))
    assert server.answers(started)
    processes.stop_session(started.process)
    assert not server.answers(started)
    with pytest.raises(OutsideError, match="did not list EKS clusters"):
        inventory.Aws(started.url, REGION).everything()


def test_a_server_that_does_not_start_is_an_error_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho no module named moto\nexit 4\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script))
    with pytest.raises(OutsideError, match=r"ended with exit code 4(?s:.*)no module named moto"):
        server.start(Layout(tmp_path))


def test_what_is_in_all_regions_is_counted_once_whichever_stack_has_made_it(
    aws: inventory.Aws,
    running: Server,
    layout: Layout,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (layout.root / "Pulumi.yaml").write_text("name: shop\nconfig: {'aws:region': eu-central-1}\n")
    (layout.root / "Pulumi.one.yaml").write_text("")
    (layout.root / "Pulumi.two.yaml").write_text("config: {'aws:region': eu-west-3}\n")
    role = aws.client("iam").create_role(RoleName="nodes", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    west = inventory.Aws(running.url, "eu-west-3")
    assert west.everything() == {"IAM roles": ("nodes",)}
    console = Console(width=80, file=io.StringIO())
    for stack in ("one", "two"):
        file = layout.backend / ".pulumi" / "stacks" / "shop" / f"{stack}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        root = {"type": "pulumi:pulumi:Stack", "outputs": {"cluster": {"name": stack}}}
        file.write_text(json.dumps({"checkpoint": {"latest": {"resources": [root]}}}))
    subnets = [row["SubnetId"] for row in west.client("ec2").describe_subnets()["Subnets"][:2]]
    for name in ("one", "two", "new"):
        west.client("eks").create_cluster(name=name, roleArn=role, resourcesVpcConfig={"subnetIds": subnets})
    read: list[str] = []

    def record(_clients: object, name: str) -> list[ObservedGroup]:
        read.append(name)
        return []

    monkeypatch.setattr(eks_clusters, "read_node_groups", record)
    # Of one stack: the heading says "all stacks", so the other one's region is listed too.
    summary.print_world(console, layout, running.url, ["one"])
    said = console.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    assert said.count("IAM role") == 1
    assert read == ["new", "one"]  # that of a stack which is not complete, and the stack's own
    assert "  all regions: 1 IAM role\n" in said
    assert "  eu-central-1: " in said
    assert "  eu-west-3: 3 EKS clusters" in said


def test_a_vpc_that_is_there_before_the_stacks_is_not_left_by_them(aws: inventory.Aws) -> None:
    before = aws.everything()
    made = yaml.safe_load(vpc.create(aws))["multiarch-eks:network"]
    by_zone = {zone: subnet for zone, (subnet,) in made["privateSubnets"].items()}
    subnets = aws.client("ec2").describe_subnets(SubnetIds=list(by_zone.values()))["Subnets"]
    assert {row["VpcId"] for row in subnets} == {made["vpcId"]}
    assert {row["AvailabilityZone"]: row["SubnetId"] for row in subnets} == by_zone
    assert len(by_zone) == 3
    assert aws.everything() == before
