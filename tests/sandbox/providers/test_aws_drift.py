"""What the aws stand-in sees after others changed something, and what it does not: as the real provider."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sandbox.aws.faults import Failure
from sandbox.aws.remote import Remote
from sandbox.providers import InitializationError
from sandbox.providers.aws.drift import completed
from sandbox.providers.aws.provider import ROWS
from sandbox.providers.values import INPUTS, plain_map
from tests.sandbox.providers.driven import Driven, Made
from tests.sandbox.providers.test_aws_provider import ROLE, SUBNET, TEMPLATE, TRUST, allowed, vpc
from tests.sandbox.served import REGION, Served

ADDON = "aws:eks/addon:Addon"
CLUSTER = "aws:eks/cluster:Cluster"
GROUP = "aws:eks/nodeGroup:NodeGroup"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/"


def refreshed(driven: Driven, made: Made) -> Made:
    answer = driven.read(made)
    assert answer.resource_id == made.id
    return replace(made, inputs=plain_map(answer.inputs), state=plain_map(answer.properties))


def seen(driven: Driven, made: Made) -> list[str]:
    """What a preview of the same program shows after a refresh."""
    return driven.diff(replace(refreshed(driven, made), inputs=made.inputs)).diffs


def template(driven: Driven, _aws: Served) -> Made:
    disk = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 30, "encrypted": "true"}}
    tagged = [{"resourceType": kind, "tags": {"team": "shop"}} for kind in ("instance", "volume")]
    return driven.create(
        TEMPLATE, "t", imageId="ami-12345678", blockDeviceMappings=[disk], tagSpecifications=tagged, tags={"a": "b"}
    )


def rules(driven: Driven, _aws: Served) -> Made:
    https = {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["10.0.0.0/16"], "description": "in"}
    return driven.create("aws:ec2/securityGroup:SecurityGroup", "g", vpcId=vpc(driven).id, ingress=[https])


def endpoint(driven: Driven, _aws: Served, **more: Any) -> Made:
    service = f"com.amazonaws.{REGION}.s3"
    return driven.create("aws:ec2/vpcEndpoint:VpcEndpoint", "s3", vpcId=vpc(driven).id, serviceName=service, **more)


def guarded(driven: Driven, aws: Served) -> Made:
    return endpoint(driven, aws, policy=json.dumps(allowed("s3:GetObject")))


def role(driven: Driven, _aws: Served) -> Made:
    return driven.create(ROLE, "r", assumeRolePolicy=TRUST, tags={"team": "shop"})


def scaling_group(driven: Driven, aws: Served) -> Made:
    subnet = driven.create(SUBNET, "s", vpcId=vpc(driven).id, cidrBlock="10.0.0.0/24")
    made = driven.create(TEMPLATE, "t", imageId=aws.image(), instanceType="m7i.large")
    policy = {"launchTemplate": {"launchTemplateSpecification": {"launchTemplateId": made.id, "version": "1"}}}
    sizes = {"minSize": 0, "maxSize": 2, "desiredCapacity": 0, "vpcZoneIdentifiers": [subnet.id]}
    tags = [{"key": "a", "value": "b", "propagateAtLaunch": True}]
    return driven.create("aws:autoscaling/group:Group", "g", mixedInstancesPolicy=policy, tags=tags, **sizes)


def inline_policy(driven: Driven, aws: Served) -> Made:
    given = {"role": role(driven, aws).id, "policy": json.dumps(allowed("sqs:SendMessage"))}
    return driven.create("aws:iam/rolePolicy:RolePolicy", "p", **given)


def other_disk(aws: Served, made: Made) -> None:
    data = {"BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 90, "Encrypted": True}}]}
    aws.client("ec2").create_launch_template_version(
        LaunchTemplateId=made.id, SourceVersion="1", LaunchTemplateData=data
    )


def other_policy(aws: Served, made: Made) -> None:
    policy = json.dumps(allowed("s3:*"))
    aws.client("ec2").modify_vpc_endpoint(VpcEndpointId=made.id, PolicyDocument=policy)


def tagged(aws: Served, made: Made) -> None:
    aws.client("ec2").create_tags(Resources=[made.id], Tags=[{"Key": "stage", "Value": "dev"}])


def another_rule(aws: Served, made: Made) -> None:
    source = [{"CidrIp": "0.0.0.0/0"}]
    rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": source}
    aws.client("ec2").authorize_security_group_ingress(GroupId=made.id, IpPermissions=[rule])


def larger(aws: Served, made: Made) -> None:
    aws.client("autoscaling").update_auto_scaling_group(AutoScalingGroupName=made.id, MaxSize=7)


def rewritten(aws: Served, made: Made, action: str = "sqs:SendMessage") -> None:
    names = {"RoleName": made.inputs["role"], "PolicyName": made.inputs["name"]}
    aws.client("iam").put_role_policy(**names, PolicyDocument=json.dumps(allowed(action), indent=4))


@pytest.mark.parametrize(
    ("create", "change", "shown"),
    [
        (lambda driven, _aws: vpc(driven), tagged, ["tags", "tagsAll"]),
        # A new version starts from no data of the old one in this server, so the image is gone too.
        (template, other_disk, ["blockDeviceMappings", "imageId", "tagSpecifications"]),
        (rules, another_rule, ["ingress"]),
        (guarded, other_policy, ["policy"]),
        # Omitted, so what AWS has is as good: optional and computed.
        (endpoint, other_policy, []),
        (scaling_group, larger, ["maxSize"]),
        # The layout of a document is no change.
        (inline_policy, rewritten, []),
        (inline_policy, lambda aws, made: rewritten(aws, made, "sqs:*"), ["policy"]),
    ],
)
def test_what_others_changed_shows_unless_it_is_omitted_and_computed(
    driven: Driven,
    aws: Served,
    create: Callable[[Driven, Served], Made],
    change: Callable[[Served, Made], None],
    shown: list[str],
) -> None:
    made = create(driven, aws)
    assert seen(driven, made) == []
    change(aws, made)
    assert seen(driven, made) == shown
    again = driven.update(replace(refreshed(driven, made), inputs=made.inputs))
    assert seen(driven, again) == []


def cluster(driven: Driven, aws: Served, **more: Any) -> Made:
    _, subnets = aws.network()
    vpc_config = {"subnetIds": subnets, "endpointPrivateAccess": True}
    return driven.create(CLUSTER, "c", name="shop", roleArn=aws.role("c"), vpcConfig=vpc_config, **more)


def encrypted(key: str) -> dict[str, Any]:
    return {"provider": {"keyArn": KEY + key}, "resources": ["secrets"]}


def test_encryption_goes_on_in_place_not_off_and_keeps_its_key(driven: Driven, aws: Served) -> None:
    plain = cluster(driven, aws)
    assert driven.diff(plain, encryptionConfig=encrypted("a")).replaces == []
    made = driven.update(plain, encryptionConfig=encrypted("a"))
    other = driven.diff(made, encryptionConfig=encrypted("b"))
    assert (other.diffs, other.replaces) == (["encryptionConfig"], [])
    same = driven.update(made, encryptionConfig=encrypted("b"))
    assert same.state[INPUTS]["encryptionConfig"] == encrypted("a")
    assert driven.diff(same).diffs == ["encryptionConfig"]
    assert driven.diff(made, encryptionConfig=None).replaces == ["encryptionConfig"]


def test_an_addons_configuration_stays_when_it_is_omitted_and_goes_with_an_empty_one(
    driven: Driven, aws: Served
) -> None:
    aws.cluster()
    inputs = {"clusterName": "shop", "addonName": "coredns", "configurationValues": '{"replicaCount": 3}'}
    made = driven.create(ADDON, "coredns", **inputs)
    omitted = driven.diff(made, configurationValues=None)
    assert (omitted.changes, omitted.diffs) == (False, [])
    retagged = driven.update(made, configurationValues=None, tags={"a": "b"})
    assert retagged.state["configurationValues"] == '{"replicaCount": 3}'
    assert driven.diff(made, configurationValues="{}").diffs == ["configurationValues"]
    assert driven.update(made, configurationValues="{}").state["configurationValues"] == "{}"


def node_group(driven: Driven, aws: Served) -> Made:
    _, subnets = aws.network()
    role = aws.role("node")
    vpc_config = {"subnetIds": subnets}
    aws.client("eks").create_cluster(name="shop", roleArn=role, version="1.35", resourcesVpcConfig=vpc_config)
    sizes = {"minSize": 1, "maxSize": 3, "desiredSize": 2}
    inputs = {"clusterName": "shop", "nodeRoleArn": role, "subnetIds": subnets, "scalingConfig": sizes}
    return driven.create(GROUP, "arm", **inputs, amiType="AL2023_ARM_64_STANDARD", instanceTypes=["m7g.large"])


def test_a_group_that_failed_has_an_id_and_an_error_until_the_next_read(driven: Driven, aws: Served) -> None:
    Remote(aws.endpoint).set_faults(Failure("nodegroup", "arm"))
    with pytest.raises(InitializationError, match=r"state 'CREATE_FAILED'.*NodeCreationFailure: Inst") as raised:
        node_group(driven, aws)
    state = plain_map(raised.value.properties)
    made = Made(f"urn:pulumi:dev::shop::{GROUP}::arm", raised.value.identifier, state[INPUTS], state)
    assert refreshed(driven, made).state["arn"]
    assert driven.diff(refreshed(driven, made)).changes is False
    driven.delete(made)
    assert driven.read(made).resource_id == ""


def test_auto_scaling_groups_take_no_default_tags(driven: Driven, aws: Served) -> None:
    tagging = Driven({**driven.settings, "defaultTags": json.dumps({"tags": {"owner": "platform"}})})
    made = scaling_group(tagging, aws)
    (row,) = aws.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    assert [tag["Key"] for tag in row["Tags"]] == ["a"]
    assert seen(tagging, made) == []


@pytest.mark.parametrize(
    ("token", "inputs", "said"),
    [
        (TEMPLATE, {"namePrefix": "a" * 100}, "'namePrefix' cannot be longer than 99 characters"),
        (GROUP, {"nodeGroupNamePrefix": "a" * 38}, "longer than 37"),
    ],
)
def test_a_name_that_the_provider_rejects_is_rejected_in_the_preview(
    driven: Driven, token: str, inputs: dict[str, Any], said: str
) -> None:
    answer = driven.check(token, "x", inputs)
    assert said in str([failure.reason for failure in answer.failures or []])


def test_nested_inputs_that_are_omitted_keep_what_aws_has() -> None:
    old = {"vpcConfig": {"publicAccessCidrs": ["10.0.0.0/8"], "endpointPrivateAccess": True}, "version": "1.35"}
    kept = {"vpcConfig": {"publicAccessCidrs": ["10.0.0.0/8"]}, "version": "1.35"}
    assert completed(ROWS[CLUSTER], {"vpcConfig": {}}, old) == kept
