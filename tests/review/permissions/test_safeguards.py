"""Encryption, protection, logging and the metadata service: what is weaker after a change."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.review.model import UNKNOWN, Operation
from multiarch.review.permissions.safeguards import find
from tests.review.permissions.steps import ROLE, change, said, step

TEMPLATE, CLUSTER = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/cluster:Cluster"
GROUP, KEY, FLOW_LOG = "aws:cloudwatch/logGroup:LogGroup", "aws:kms/key:Key", "aws:ec2/flowLog:FlowLog"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"


def disks(*encrypted: Any) -> dict[str, Any]:
    return {"blockDeviceMappings": [{"ebs": {"encrypted": each}} for each in encrypted]}


def metadata(tokens: Any, hops: Any = 1) -> dict[str, Any]:  # noqa: ANN401
    return {"metadataOptions": {"httpTokens": tokens, "httpPutResponseHopLimit": hops}}


@pytest.mark.parametrize(
    ("type_", "strong", "weak", "rule", "text"),
    [
        (CLUSTER, {"encryptionConfig": {"provider": {"keyArn": UNKNOWN}}}, {}, "weaken-encryption",
         "Secrets are not encrypted with a KMS key of yours"),
        (TEMPLATE, disks("true", "true"), disks("true", "false"), "weaken-encryption",
         "a volume of its instances is not encrypted (encrypted: false)"),
        (TEMPLATE, disks("true"), disks(UNKNOWN), "weaken-encryption",
         "blockDeviceMappings[].ebs.encrypted is known only after the update"),
        (TEMPLATE, disks("true"), {"blockDeviceMappings": UNKNOWN}, "weaken-encryption",
         "blockDeviceMappings[].ebs.encrypted is known only after the update"),
        (NODE_CLASS, {"spec": disks("true")}, {"spec": disks("false")}, "weaken-encryption",
         "a volume of its nodes is not encrypted"),
        (GROUP, {"kmsKeyId": "arn:1"}, {}, "weaken-encryption", "it is not encrypted with a KMS key of yours"),
        ("aws:sqs/queue:Queue", {"sqsManagedSseEnabled": True}, {"sqsManagedSseEnabled": False}, "weaken-encryption",
         "messages are not encrypted by SQS"),
        ("aws:sqs/queue:Queue", {}, {"sqsManagedSseEnabled": UNKNOWN}, "weaken-encryption",
         "sqsManagedSseEnabled is known only after the update"),
        ("aws:lb/listener:Listener", {"protocol": "HTTPS"}, {"protocol": "HTTP"}, "weaken-encryption",
         "connections to it are not encrypted (HTTP)"),
        ("aws:dynamodb/table:Table", {"serverSideEncryption": [{"enabled": True}]}, {}, "weaken-encryption",
         "it uses a key of AWS"),
        (KEY, {"enableKeyRotation": True}, {"enableKeyRotation": False}, "weaken-encryption", "the key is not rotated"),
        (CLUSTER, {"deletionProtection": True}, {"deletionProtection": False}, "weaken-protection",
         "deletionProtection is false"),
        (KEY, {}, {"deletionWindowInDays": 7}, "weaken-protection", "a deleted key can be restored for 7 days only"),
        ("aws:rds/instance:Instance", {}, {"skipFinalSnapshot": True}, "weaken-protection",
         "no snapshot is taken when it is deleted"),
        ("aws:ecr/repository:Repository", {"imageTagMutability": "IMMUTABLE"}, {}, "weaken-protection",
         "tags can be moved (not set)"),
        (CLUSTER, {"enabledClusterLogTypes": ["api", "audit"]}, {"enabledClusterLogTypes": ["api"]},
         "weaken-logging", "no audit logs"),
        (GROUP, {}, {"retentionInDays": 90}, "weaken-logging", "logs are kept for 90 days only"),
        (GROUP, {"retentionInDays": 0}, {"retentionInDays": 90}, "weaken-logging", "logs are kept for 90 days only"),
        (FLOW_LOG, {"trafficType": "ALL"}, {"trafficType": "REJECT"}, "weaken-logging",
         "only REJECT traffic is logged"),
        (TEMPLATE, metadata("required"), metadata("optional"), "weaken-metadata-service",
         "IMDSv2 is not required (httpTokens: optional)"),
        (TEMPLATE, metadata("required"), {}, "weaken-metadata-service",
         "IMDSv2 is not required (httpTokens: not set)"),
        (TEMPLATE, metadata("required"), metadata("required", 2), "weaken-metadata-service",
         "answers of the metadata service travel 2 hops: pods that are not on the host network can use the role"),
        (NODE_CLASS, {"spec": {}}, {"spec": metadata("optional")}, "weaken-metadata-service",
         "IMDSv2 is not required (httpTokens: optional)"),
    ],
)  # fmt: skip
def test_a_setting_that_becomes_weaker_is_reported_and_one_that_becomes_stronger_is_not(
    type_: str, strong: Any, weak: Any, rule: str, text: str  # noqa: ANN401
) -> None:  # fmt: skip
    found = said(find(change(step(type_, "x", strong, weak))))
    assert [each.partition(" ")[2].replace(" x ", " ").partition(":")[0] for each in found] == [rule]
    assert found[0].endswith(f" x becomes weaker: {text}")
    assert said(find(change(step(type_, "x", weak, strong)))) == []
    assert said(find(change(step(type_, "x", strong, strong | {"tags": {"a": "b"}})))) == []


def test_new_resources_are_reported_where_they_could_be_stronger() -> None:
    assert said(find(change(step(TEMPLATE, "x", None, {**metadata("optional"), **disks("true")})))) == [
        (
            "MEDIUM weaken-metadata-service: launch template x is created weaker than it could be: "
            "IMDSv2 is not required (httpTokens: optional)"
        ),
    ]
    assert said(find(change(step(TEMPLATE, "x", None, {**metadata("required", 2), **disks("true")})))) == []
    assert said(find(change(step(GROUP, "x", None, {"retentionInDays": 7})))) == []


def test_a_new_resource_in_the_place_of_a_stronger_one_is_reported() -> None:
    steps = [step(GROUP, "old", {"kmsKeyId": "arn:1"}, None), step(GROUP, "new", None, {})]
    assert said(find(change(*steps))) == [
        (
            "MEDIUM weaken-encryption: log group new is created weaker than it could be: "
            "it is not encrypted with a KMS key of yours"
        ),
    ]


def test_what_protects_another_resource_must_not_go_alone() -> None:
    vpc = {"cidrBlock": "10.0.0.0/16"}
    flow_log = step(FLOW_LOG, "vpc", {"vpcId": "vpc-1", "trafficType": "ALL"}, None)
    stays, goes = (step("aws:ec2/vpc:Vpc", "vpc", vpc, each, outputs={"arn": "vpc-1"}) for each in (vpc, None))
    assert said(find(change(stays, flow_log))) == [
        "MEDIUM weaken-logging: flow log vpc becomes weaker: the flow log of a VPC that stays is deleted"
    ]
    assert said(find(change(goes, flow_log))) == []


def test_protect_that_is_taken_away_is_reported_once() -> None:
    inputs = {"name": "x"}
    steps = [step(ROLE, name, inputs, inputs, protect=(True, False)) for name in ("a", "b", "c")]
    assert all(each.operation is Operation.UPDATE for each in steps)
    assert said(find(change(*steps))) == [
        (
            "HIGH weaken-protection: IAM role a and 2 more "
            "protect is taken away: Pulumi will no longer refuse to delete or replace it"
        ),
        "IAM role b",
        "IAM role c",
    ]
    same = step(ROLE, "a", inputs, inputs, protect=(True, False), operation=Operation.SAME)
    assert len(said(find(change(same)))) == 1
    assert said(find(change(step(ROLE, "a", inputs, inputs, protect=(False, True))))) == []


def test_what_was_weakened_outside_of_pulumi_is_reported_as_such() -> None:
    drift = step(TEMPLATE, "x", metadata("required"), metadata("optional"), operation=Operation.DRIFT)
    assert said(find(change(drift))) == [
        (
            "HIGH weaken-metadata-service: launch template x changed outside of Pulumi: becomes weaker: "
            "IMDSv2 is not required (httpTokens: optional)"
        ),
    ]
