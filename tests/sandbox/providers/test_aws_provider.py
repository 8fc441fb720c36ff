"""The aws stand-in, driven as the engine drives it, against the sandbox's AWS."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.providers import StandInError
from sandbox.providers.aws.provider import ROWS, configured
from sandbox.providers.values import GENERATION, UNKNOWN
from tests.sandbox.leftovers import leftovers
from tests.sandbox.providers.driven import Driven, Made
from tests.sandbox.served import REGION, Served

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
ROLE = "aws:iam/role:Role"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
    }
)


def vpc(driven: Driven) -> Made:
    return driven.create(VPC, "net", cidrBlock="10.0.0.0/16", tags={"team": "shop"})


def test_a_resource_lives(driven: Driven, aws: Served) -> None:
    made = vpc(driven)
    assert made.state["arn"] == f"arn:aws:ec2:{REGION}:123456789012:vpc/{made.id}"
    assert made.state["enableDnsSupport"] is True
    assert made.state["tagsAll"] == {"team": "shop"}
    changed = driven.update(made, enableDnsHostnames=True, tags={"team": "shop", "stage": "dev"})
    attribute = aws.client("ec2").describe_vpc_attribute(VpcId=made.id, Attribute="enableDnsHostnames")
    assert attribute["EnableDnsHostnames"]["Value"] is True
    tags = {row["Key"]: row["Value"] for row in aws.client("ec2").describe_vpcs(VpcIds=[made.id])["Vpcs"][0]["Tags"]}
    assert tags == {"team": "shop", "stage": "dev"}
    assert driven.read(changed).resource_id == made.id
    driven.delete(changed)
    assert driven.read(changed).resource_id == ""
    driven.delete(changed)
    assert leftovers(aws.endpoint, REGION) == {}


def test_a_change_says_whether_it_replaces(driven: Driven) -> None:
    made = vpc(driven)
    in_place = driven.diff(made, enableDnsHostnames=True)
    assert (in_place.diffs, in_place.replaces) == (["enableDnsHostnames"], [])
    replacing = driven.diff(made, cidrBlock="10.1.0.0/16")
    assert (replacing.diffs, replacing.replaces) == (["cidrBlock"], ["cidrBlock"])


def test_an_unknown_type_and_an_unknown_property_are_named(driven: Driven) -> None:
    answer = driven.check("aws:s3/bucket:Bucket", "b", {})
    assert answer.failures is not None
    assert "has no aws:s3/bucket:Bucket; add a row in sandbox/providers/aws" in answer.failures[0].reason
    answer = driven.check(VPC, "v", {"cidrBlock": "10.0.0.0/16", "ipv6CidrBlock": "::/56"})
    assert answer.failures is not None
    assert [failure.property for failure in answer.failures] == ["ipv6CidrBlock"]
    answer = driven.check(VPC, "v", {"region": "us-west-2"})
    assert answer.failures is not None
    assert "one region" in answer.failures[0].reason


def test_a_preview_knows_inputs_and_not_outputs(driven: Driven, aws: Served) -> None:
    shown = driven.preview(SUBNET, "s", vpcId=UNKNOWN, cidrBlock="10.0.0.0/24")
    assert shown["vpcId"] == shown["arn"] == UNKNOWN
    assert shown["cidrBlock"] == "10.0.0.0/24"
    shown = driven.preview("aws:eks/cluster:Cluster", "c", vpcConfig={"subnetIds": ["a"]}, roleArn="r")
    assert shown["vpcConfig"]["clusterSecurityGroupId"] == UNKNOWN
    assert shown["vpcConfig"]["subnetIds"] == ["a"]
    assert leftovers(aws.endpoint, REGION) == {}


def test_a_replacement_is_another_thing(driven: Driven) -> None:
    """The engine checks a replacement a second time, without the old inputs, and deletes the old thing afterwards."""
    made = driven.create(TEMPLATE, "t", imageId="ami-12345678")
    driven.again(made)
    new = driven.checked(TEMPLATE, "t", {"imageId": "ami-12345678"})
    assert new[GENERATION] == made.inputs[GENERATION] + 1
    assert new["name"] != made.inputs["name"]
    replacement = driven.create_checked(TEMPLATE, "t", new)
    driven.delete(made)
    assert driven.read(replacement).resource_id == replacement.id
    assert driven.again(replacement)["name"] == replacement.inputs["name"]


def test_a_subnet_gets_another_table_and_a_gateway_another_network_in_place(driven: Driven, aws: Served) -> None:
    nets = [vpc(driven) for _ in range(2)]
    subnet = driven.create(SUBNET, "s", vpcId=nets[0].id, cidrBlock="10.0.0.0/24")
    one, other = (driven.create("aws:ec2/routeTable:RouteTable", name, vpcId=nets[0].id).id for name in "ab")
    kind = "aws:ec2/routeTableAssociation:RouteTableAssociation"
    made = driven.create(kind, "a", routeTableId=one, subnetId=subnet.id)
    assert driven.diff(made, routeTableId=other).replaces == []
    moved = driven.update(made, routeTableId=other)
    assert (driven.read(moved).resource_id, driven.diff(moved).changes) == (made.id, False)
    driven.delete(moved)
    tables = aws.client("ec2").describe_route_tables(RouteTableIds=[one, other])["RouteTables"]
    assert [row["Associations"] for row in tables] == [[], []]
    gateway = driven.create("aws:ec2/internetGateway:InternetGateway", "g", vpcId=nets[0].id)
    assert driven.update(gateway, vpcId=nets[1].id).state["vpcId"] == nets[1].id


@pytest.mark.parametrize(
    ("token", "name"),
    [
        ("aws:ec2/internetGateway:InternetGateway", "vpcId"),
        ("aws:autoscaling/lifecycleHook:LifecycleHook", "autoscalingGroupName"),
        ("aws:iam/openIdConnectProvider:OpenIdConnectProvider", "clientIdLists"),
        ("aws:ssm/document:Document", "documentType"),
        ("aws:eks/cluster:Cluster", "encryptionConfig.provider.keyArn"),
    ],
)
def test_these_inputs_replace_nothing(token: str, name: str) -> None:
    assert not ROWS[token].replaces(name)


def allowed(action: str) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource": "*"}]}


def rules(aws: Served, group: str) -> list[dict[str, Any]]:
    row = aws.client("ec2").describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
    return [*row["IpPermissions"], *row["IpPermissionsEgress"]]


def test_a_new_security_group_lets_nothing_out(driven: Driven, aws: Served) -> None:
    net = vpc(driven)
    group = driven.create("aws:ec2/securityGroup:SecurityGroup", "g", vpcId=net.id)
    assert rules(aws, group.id) == []
    assert group.state["description"] == "Managed by Pulumi"
    https = {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["10.0.0.0/16"]}
    opened = driven.update(group, ingress=[https])
    assert len(rules(aws, group.id)) == 1
    driven.update(opened, ingress=[])
    assert rules(aws, group.id) == []


@pytest.mark.parametrize(
    ("token", "arguments", "message"),
    [
        ("aws:ec2/getAmi:getAmi", {}, "has no function aws:ec2/getAmi:getAmi"),
        ("aws:index/getPartition:getPartition", {"nonsense": 1}, "takes no nonsense"),
        ("aws:ssm/getParameter:getParameter", {"name": "/not/there"}, "does not exist"),
    ],
)
def test_a_function_that_cannot_answer_says_so(
    driven: Driven, token: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(StandInError, match=message):
        driven.invoke(token, **arguments)


@pytest.mark.parametrize("url", ["", "https://ec2.eu-west-1.amazonaws.com", "http://192.0.2.1:5000"])
def test_it_rejects_to_run_without_an_address_on_this_machine(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(StandInError, match="AWS_ENDPOINT_URL"):
        configured({"region": REGION})


def test_an_endpoint_off_this_machine_is_rejected_too(driven: Driven) -> None:
    with pytest.raises(StandInError, match="endpoint for eks"):
        configured({**driven.settings, "endpoints": [{"eks": "https://eks.eu-west-1.amazonaws.com"}]})
