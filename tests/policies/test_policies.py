"""Each policy: what it finds, and what it lets pass."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.nodes import (
    AUTO_SCALING_GROUP,
    INSTANCE,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    NODE_CLASS,
    NODE_POOL,
)
from multiarch.observed.resources.nodes import AUTO_SCALING_TAG as TAG
from multiarch.observed.resources.nodes import MANAGED_GROUP as NODE_GROUP
from multiarch.policies import build_policies
from multiarch.policies.daemon_sets import DAEMON_SET
from multiarch.policies.encryption import STORAGE_CLASS, VOLUME
from multiarch.policies.model import check_policy
from multiarch.policies.network import GROUP_RULE, INGRESS_RULE, SECURITY_GROUP
from multiarch.rules import SECTIONS, Finding

CLUSTER = "aws:eks/cluster:Cluster"
POLICY = "aws:iam/policy:Policy"
ROLE = "aws:iam/role:Role"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
TAINT = {"key": "arch", "value": "arm64", "effect": "NO_SCHEDULE"}


def _judge(image: str) -> Sequence[Judgement]:
    verdict = {"both": Verdict.SUPPORTED, "amd64-only": Verdict.UNSUPPORTED}.get(image, Verdict.UNKNOWN)
    arm64 = Judgement(Architecture.ARM64, verdict, "a reason", None)
    return [Judgement(Architecture.AMD64, Verdict.SUPPORTED, "", None), arm64]


def _found(rule: str, *resources: DeclaredResource) -> list[Finding]:
    return [
        each for policy in build_policies(_judge) if policy.rule == rule for each in check_policy(policy, resources)
    ]


def resource(type_: str, properties: Any = None, name: str = "it", **more: Any) -> DeclaredResource:  # noqa: ANN401
    return DeclaredResource(f"urn:{type_}::{name}", "", type_, name, properties or {}, **more)


def _group(**properties: Any) -> DeclaredResource:
    return resource(NODE_GROUP, properties)


def _pool(
    architectures: Sequence[str], operator: str = "In", key: str = "kubernetes.io/arch", **spec: Any
) -> DeclaredResource:
    rule = {"key": key, "operator": operator, "values": list(architectures)}
    return resource(NODE_POOL, {"spec": {"template": {"spec": {"requirements": [rule], **spec}}}})


def _asg(user_data: str, **properties: Any) -> tuple[DeclaredResource, DeclaredResource]:
    template = resource(LAUNCH_TEMPLATE, {"userData": base64.b64encode(user_data.encode()).decode()})
    overrides = {"launchTemplate": {"overrides": [{"instanceType": "m7g.large"}]}}
    group = {"mixedInstancesPolicy": overrides, **properties}
    return resource(AUTO_SCALING_GROUP, group, dependencies=frozenset({template.urn})), template


def _launched(instance_type: str, **properties: Any) -> tuple[DeclaredResource, DeclaredResource]:
    """A node group whose launch template names the instance type."""
    template = resource(LAUNCH_TEMPLATE, {"instanceType": instance_type})
    return resource(NODE_GROUP, properties, dependencies=frozenset({template.urn})), template


def _configured(**properties: Any) -> tuple[DeclaredResource, DeclaredResource]:
    """An Auto Scaling group with a launch configuration."""
    configuration = resource(LAUNCH_CONFIGURATION, properties)
    group = resource(AUTO_SCALING_GROUP, {}, dependencies=frozenset({configuration.urn}))
    return group, configuration


def _with_image(image: str) -> tuple[DeclaredResource, DeclaredResource]:
    template = resource(LAUNCH_TEMPLATE, {"imageId": image})
    return resource(NODE_GROUP, {"launchTemplate": {}}, dependencies=frozenset({template.urn})), template


def _of_class(**term: str) -> tuple[DeclaredResource]:
    return (resource(NODE_CLASS, {"spec": {"amiSelectorTerms": [term]}}),)


def _ignoring(path: str) -> DeclaredResource:
    return resource(NODE_GROUP, {"scalingConfig": SIZES}, ignore_changes=(path,))


def _storage_class(provisioner: str, **parameters: str) -> tuple[DeclaredResource]:
    return (resource(STORAGE_CLASS, {"provisioner": provisioner, "parameters": parameters}),)


def _attached(type_: str, property_: str, name: str) -> tuple[DeclaredResource]:
    arn = f"arn:aws:iam::{'' if ':' in name else 'aws:'}{name if ':' in name else f'policy/{name}'}"
    return (resource(f"aws:iam/{type_[0].lower()}{type_[1:]}:{type_}", {property_: arn}),)


def _empty(user_data: str) -> tuple[DeclaredResource, ...]:
    """An Auto Scaling group without nodes that the cluster autoscaler knows."""
    return _asg(user_data, minSize=0, tags=[{"key": "k8s.io/cluster-autoscaler/enabled", "value": "true"}])


def _cluster(**vpc: Any) -> DeclaredResource:
    return resource(CLUSTER, {"vpcConfig": vpc})


def _policy(*statements: Any) -> DeclaredResource:
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **each} for each in statements]}
    return resource(POLICY, {"policy": json.dumps(document)})


def _trust(statement: Any) -> DeclaredResource:  # noqa: ANN401
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", **statement}
    return resource(ROLE, {"assumeRolePolicy": {"Statement": statement}})


def _daemon_set(image: str, **spec: Any) -> DeclaredResource:
    return resource(DAEMON_SET, {"spec": {"template": {"spec": {"containers": [{"image": image}], **spec}}}})


def _scaling(tag: str, **properties: Any) -> tuple[DeclaredResource, DeclaredResource]:
    group = _group(**{"scalingConfig": {"minSize": 0, "maxSize": 3}, "taints": [TAINT], **properties})
    references = {"autoscalingGroupName": frozenset({group.urn})}
    return group, resource(TAG, {"tag": {"key": f"k8s.io/cluster-autoscaler/{tag}"}}, references=references)


def _from_list(**source: Any) -> dict[str, Any]:
    return {"protocol": "tcp", "fromPort": 22, "toPort": 22, **source}


ROLES = "arn:aws:iam::111122223333"
TLS = {"Bool": {"aws:SecureTransport": "true"}}
SIZES = {"minSize": 1, "maxSize": 3, "desiredSize": 1}
KARPENTER = "karpenter.k8s.aws/instance-"
SSM = "resolve:ssm:/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard"
RELEASE = "/aws/service/bottlerocket/aws-k8s-1.35/arm64/1.62.0-ae0b4a82/image_id"
OPEN_22 = {"protocol": "tcp", "fromPort": 20, "toPort": 30, "cidrBlocks": ["10.0.0.0/8"]}

VIOLATIONS = [
    ("architecture", (_group(amiType="AL2023_x86_64_STANDARD", instanceTypes=["m7g.large"]),), "m7g.large is arm64"),
    ("architecture", (_group(instanceTypes=["m7g.large", "m7i.large"]),), "have two architectures"),
    ("architecture", (_group(amiType="AL2023_ARM_64_STANDARD", instanceTypes=["z9.large"]),), "can't be compared"),
    ("architecture", (_group(amiType="AL2024", instanceTypes=["m7g.large"]),), "AL2024"),
    ("architecture", _launched("m7i.large", amiType="AL2023_ARM_64_STANDARD"), "m7i.large is amd64"),
    ("arm64-taint", (_group(instanceTypes=["m7g.large"]),), "has no taint"),
    ("arm64-taint", (_group(amiType="AL2023_ARM_64_STANDARD"),), "has no taint"),
    ("arm64-taint", (_group(instanceTypes=["m7g.large"], taints=[{"effect": "PREFER_NO_SCHEDULE"}]),), "no taint"),
    ("arm64-taint", _asg("#!/bin/sh"), "registers no taint"),
    ("arm64-taint", _asg("#!/bin/sh")[:1], "can't be checked"),
    ("arm64-taint", (_pool(["arm64"]),), "without a taint"),
    ("arm64-taint", (_pool(["m7g"], key="eks.amazonaws.com/instance-family"),), "without a taint"),
    ("arm64-taint", (_pool(["arm64"], taints=[{"key": "arch", "effect": "PreferNoSchedule"}]),), "without a taint"),
    ("arm64-taint", (_pool(["arm64"], startupTaints=[{"key": "arch", "effect": "NoSchedule"}]),), "without a taint"),
    ("arm64-taint", _configured(instanceType="m7g.large", userData="#!/bin/sh"), "registers no taint"),
    ("arm64-taint", _launched("m7g.large"), "has no taint"),
    ("ssh-key", (_group(remoteAccess={"ec2SshKey": "k"}),), "remoteAccess"),
    ("ssh-key", (resource(LAUNCH_TEMPLATE, {"keyName": "k"}),), "keyName k"),
    ("ssh-key", (resource(LAUNCH_CONFIGURATION, {"keyName": "k"}),), "keyName k"),
    ("ssh-port", (resource(SECURITY_GROUP, {"ingress": [OPEN_22]}),), "from 10.0.0.0/8"),
    ("ssh-port", (resource(SECURITY_GROUP, {"ingress": [{"protocol": "-1", "ipv6CidrBlocks": ["::/0"]}]}),), "::/0"),
    ("ssh-port", (resource(GROUP_RULE, OPEN_22 | {"type": "ingress"}),), "port 22"),
    ("ssh-port", (resource(INGRESS_RULE, {"ipProtocol": "-1", "cidrIpv4": "0.0.0.0/0"}),), "0.0.0.0/0"),
    ("ssh-port", (resource(SECURITY_GROUP, {"ingress": [OPEN_22 | {"fromPort": "x", "toPort": "y"}]}),), "port 22"),
    ("ssh-port", (resource(GROUP_RULE, _from_list(type="ingress", prefixListIds=["pl-1"])),), "from pl-1"),
    ("ssh-port", (resource(INGRESS_RULE, {"ipProtocol": "tcp", "fromPort": 22, "prefixListId": "pl-1"}),), "pl-1"),
    ("ssh-port", (resource(SECURITY_GROUP, {"ingress": [OPEN_22 | {"fromPort": -1, "toPort": -1}]}),), "port 22"),
    ("imdsv2", (resource(LAUNCH_CONFIGURATION),), "is not set"),
    ("imdsv2", (_group(),), "without a launch template"),
    ("imdsv2", (resource(LAUNCH_TEMPLATE),), "is not set"),
    ("imdsv2", (resource(INSTANCE, {"metadataOptions": {"httpTokens": "optional"}}),), "is optional"),
    ("imdsv2", (resource(NODE_CLASS, {"spec": {"metadataOptions": {"httpTokens": "optional"}}}),), "is optional"),
    ("ami-pinned", (_group(),), "not pinned"),
    ("ami-pinned", (_group(launchTemplate={"id": "lt-1"}),), "not in this stack"),
    ("ami-pinned", (_group(launchTemplate={"id": "lt-1"}, releaseVersion="1.35.1-20260715"),), "is lost when"),
    ("ami-pinned", _of_class(alias="al2023@latest"), "@latest"),
    ("ami-pinned", _of_class(ssmParameter=f"{SSM.removeprefix('resolve:ssm:')}/recommended/image_id"), "recommended"),
    ("ami-pinned", _of_class(ssmParameter="/shop/nodes/image"), "/shop/nodes/image"),
    ("ami-pinned", _of_class(name="amazon-eks-node-al2023-arm64-standard-1.35-*", owner="amazon"), "1.35-*"),
    ("ami-pinned", _with_image(f"{SSM}/recommended/image_id"), "without a version"),
    ("ami-pinned", _with_image("resolve:ssm:/shop/nodes/image:stable"), "without a version"),
    ("scale-from-zero", _scaling("enabled"), "taint arch"),
    ("scale-from-zero", _scaling("node-template/taint/arch", labels={"tier": "x"}), "label tier"),
    ("scale-from-zero", _empty("--register-with-taints=arch=arm64:NoSchedule"), "taint arch"),
    ("desired-size", (_group(scalingConfig=SIZES),), "scalingConfig.desiredSize"),
    ("desired-size", (_ignoring("scalingConfig.minSize"),), "scalingConfig.desiredSize"),
    ("desired-size", (resource(AUTO_SCALING_GROUP, SIZES | {"desiredCapacity": 1}),), "desiredCapacity"),
    ("public-endpoint", (_cluster(),), "not set"),
    ("public-endpoint", (_cluster(endpointPublicAccess=True, publicAccessCidrs=["0.0.0.0/0"]),), "0.0.0.0/0"),
    ("public-endpoint", (resource("eks:index:Cluster", {"endpointPublicAccess": True}),), "not set"),
    ("public-endpoint", (_cluster(publicAccessCidrs=["0.0.0.0/1", "128.0.0.0/1"]),), "128.0.0.0/1"),
    ("public-endpoint", (_cluster(publicAccessCidrs=["192.0.2.0/24", "::/1"]),), "::/1"),
    ("encrypted-volumes", (resource(LAUNCH_TEMPLATE),), "blockDeviceMappings is not set"),
    ("encrypted-volumes", (resource(LAUNCH_TEMPLATE, {"blockDeviceMappings": [{"ebs": {}}]}),), "not encrypted"),
    ("encrypted-volumes", (resource(VOLUME, {"encrypted": False}),), "not encrypted"),
    ("encrypted-volumes", _storage_class("ebs.csi.aws.com"), "StorageClass"),
    ("encrypted-volumes", _storage_class("ebs.csi.eks.amazonaws.com", encrypted="false"), "StorageClass"),
    ("encrypted-volumes", _storage_class("kubernetes.io/aws-ebs", type="gp3"), "StorageClass"),
    ("encrypted-volumes", (resource(LAUNCH_CONFIGURATION),), "root volume"),
    ("encrypted-volumes", (resource(INSTANCE),), "root volume"),
    ("encrypted-volumes", (resource(NODE_CLASS, {"spec": {"blockDeviceMappings": [{"ebs": {}}]}}),), "not encrypted"),
    ("encrypted-secrets", (_cluster(),), "Secrets"),
    ("iam-wildcards", (_policy({"Action": "*", "Resource": "arn:x"}),), "whole service"),
    ("iam-wildcards", (_policy({"Action": ["EC2:*"], "Resource": "arn:x"}),), "ec2:*"),
    ("iam-wildcards", (_policy({"Action": "ec2:RunInstances", "Resource": ["*"]}),), "ec2:runinstances on every"),
    ("iam-wildcards", (_policy({"NotAction": "iam:*", "Resource": "arn:x"}),), "NotAction"),
    ("iam-wildcards", (resource(POLICY, {"policy": "{"}),), "not JSON"),
    ("iam-wildcards", (_trust({"Principal": {"AWS": "*"}}),), "everyone"),
    ("iam-wildcards", (_trust({"Principal": {"Federated": "arn:aws:iam::1:oidc-provider/a"}}),), "every token"),
    ("iam-wildcards", (_trust({"Principal": "*", "Condition": {"StringLike": {"aws:userid": "*"}}}),), "not limit who"),
    ("iam-wildcards", (_trust({"Principal": {"Federated": "a"}, "Condition": {"StringLike": {"sub": "*"}}}),), "whose"),
    ("iam-wildcards", _attached("RolePolicyAttachment", "policyArn", "AdministratorAccess"), "nearly"),
    ("iam-wildcards", _attached("PolicyAttachment", "policyArn", "job-function/PowerUserAccess"), "nearly"),
    ("iam-wildcards", _attached("UserPolicyAttachment", "policyArn", "AmazonS3FullAccess"), "whole service"),
    ("iam-wildcards", _attached("RolePolicyAttachmentsExclusive", "policyArns", "IAMFullAccess"), "nearly"),
    ("iam-wildcards", _attached("Role", "managedPolicyArns", "AdministratorAccess"), "nearly"),
    ("iam-wildcards", (_policy({"Action": ["s3:**"], "Resource": "arn:x"}),), "s3:**"),
    ("iam-wildcards", (_policy({"Action": ["s3:?*"], "Resource": "arn:x"}),), "s3:?*"),
    ("iam-wildcards", (_policy({"Action": "*:*", "Resource": "arn:x"}),), "*:*"),
    ("iam-wildcards", (_policy({"Action": "iam:PassRole", "Resource": "arn:aws:iam::*:role/*"}),), "passrole"),
    ("iam-wildcards", (_policy({"Action": "iam:PassRole", "Resource": f"{ROLES}:role/*"}),), "passrole"),
    ("iam-wildcards", (_policy({"Action": "s3:PutObject", "Resource": "arn:aws:s3:::*"}),), "s3:putobject on every"),
    ("iam-wildcards", (_policy({"Action": "ec2:Stop*", "Resource": "arn:aws:ec2:*:*:*"}),), "ec2:stop*"),
    ("iam-wildcards", (_policy({"Action": "s3:Put*", "Resource": "arn:aws:*"}),), "s3:put* on every"),
    ("iam-wildcards", (_policy({"Action": "sqs:*Message", "Resource": "*", "Condition": TLS}),), "sqs:*message"),
    ("iam-wildcards", (_policy({"Action": "iam:*Role", "Resource": "**"}),), "iam:*role"),
    ("iam-wildcards", (_policy({"Action": "s3:PutObject", "NotResource": "arn:aws:s3:::x"}),), "NotResource"),
    ("iam-wildcards", (_trust({"Principal": {"AWS": ["*"]}, "Condition": TLS}),), "not limit who"),
    ("iam-wildcards", (_trust({"NotPrincipal": {"AWS": "arn:x"}}),), "NotPrincipal"),
    ("daemonset-architectures", (_daemon_set("amd64-only"),), "amd64-only on arm64 nodes: unsupported: a reason"),
    ("daemonset-architectures", (_daemon_set("elsewhere"),), "unknown"),
    ("daemonset-architectures", (_daemon_set("both", initContainers=[{"image": "amd64-only"}]),), "amd64-only"),
]  # fmt: skip

ALLOWED = [
    ("architecture", (_group(amiType="CUSTOM", instanceTypes=["m7g.large", "c7g.large"]),)),
    ("arm64-taint", (_group(instanceTypes=["m7i.large"]),)),
    ("arm64-taint", (_group(instanceTypes=["m7g.large"], taints=[TAINT]),)),
    ("arm64-taint", (_group(instanceTypes=["m7g.large"], tags={"multiarch-eks/arm64-taint": "none"}),)),
    ("arm64-taint", _asg("kubelet --register-with-taints=arch=arm64:NoSchedule")),
    ("arm64-taint", _asg("", tags=[{"key": "multiarch-eks/arm64-taint", "value": "none"}])),
    ("arm64-taint", (_pool(["arm64"], taints=[{"key": "arch", "effect": "NoSchedule"}]),)),
    ("arm64-taint", (_pool(["arm64", "amd64"]),)),
    ("arm64-taint", (_pool(["intel"], "NotIn", f"{KARPENTER}cpu-manufacturer"),)),
    ("arm64-taint", _configured(instanceType="m7g.large", userData="--register-with-taints=arch=arm64:NoSchedule")),
    ("arm64-taint", _launched("m7g.large", taints=[TAINT])),
    ("ssh-key", (_group(remoteAccess={}), resource(LAUNCH_TEMPLATE), resource(LAUNCH_CONFIGURATION))),
    ("ssh-port", (resource(GROUP_RULE, _from_list(type="ingress", sourceSecurityGroupId="sg-1")),)),
    ("ssh-port", (resource(SECURITY_GROUP, {"ingress": [_from_list(self=True, securityGroups=["sg-1"])]}),)),
    ("ssh-port", (resource(INGRESS_RULE, {"ipProtocol": "udp", "fromPort": 22, "cidrIpv4": "0.0.0.0/0"}),)),
    ("ssh-port", (resource(SECURITY_GROUP, {"ingress": [OPEN_22 | {"fromPort": 443, "toPort": 443}]}),)),
    ("ssh-port", (resource(SECURITY_GROUP, {"ingress": [OPEN_22 | {"fromPort": 443.0, "toPort": 443.0}]}),)),
    ("ssh-port", (resource(GROUP_RULE, OPEN_22 | {"type": "egress"}),)),
    ("imdsv2", (resource(LAUNCH_TEMPLATE, {"metadataOptions": {"httpTokens": "required"}}), resource(NODE_CLASS))),
    ("ami-pinned", (_group(releaseVersion="1.35.1-20260715"),)),
    ("ami-pinned", _with_image("ami-0123")),
    ("ami-pinned", _with_image("resolve:ssm:/shop/nodes/image:7")),
    ("ami-pinned", _with_image(f"resolve:ssm:{RELEASE}")),
    ("ami-pinned", _configured(imageId="ami-0123")),
    ("ami-pinned", _of_class(alias="al2023@v20260715")),
    ("ami-pinned", _of_class(ssmParameter=RELEASE)),
    ("ami-pinned", _of_class(name="nodes-*", owner="111122223333")),
    ("ami-pinned", _of_class(id="ami-0123")),
    ("scale-from-zero", _scaling("node-template/taint/arch")),
    ("scale-from-zero", _scaling("enabled", scalingConfig={"minSize": 1, "maxSize": 3})),
    ("scale-from-zero", _scaling("enabled")[:1]),
    ("scale-from-zero", _empty("#!/bin/sh")),
    ("desired-size", (_ignoring("scalingConfig.desiredSize"),)),
    ("desired-size", (_ignoring('scalingConfig["desiredSize"]'),)),
    ("desired-size", (_ignoring("scalingConfig.*"),)),
    ("desired-size", (_group(scalingConfig={"minSize": 2, "maxSize": 2, "desiredSize": 2}),)),
    ("desired-size", (resource(AUTO_SCALING_GROUP, {"minSize": 1, "maxSize": 3}),)),
    ("public-endpoint", (_cluster(endpointPublicAccess=False),)),
    ("public-endpoint", (resource("eks:index:Cluster", {"kubeconfig": "of an engine's state"}),)),
    ("public-endpoint", (_cluster(endpointPublicAccess=True, publicAccessCidrs=["192.0.2.0/24"]),)),
    ("encrypted-volumes", (resource(LAUNCH_TEMPLATE, {"blockDeviceMappings": [{"ebs": {"encrypted": "true"}}]}),)),
    ("encrypted-volumes", (*_storage_class("efs.csi.aws.com"), resource(NODE_CLASS))),
    ("encrypted-volumes", _storage_class("ebs.csi.eks.amazonaws.com", encrypted="true")),
    ("encrypted-volumes", _storage_class("ebs.csi.aws.com", kmsKeyId="arn:aws:kms:eu-west-1:111122223333:key/1")),
    ("encrypted-volumes", (resource(LAUNCH_CONFIGURATION, {"rootBlockDevice": {"encrypted": True}}),)),
    ("encrypted-secrets", (resource(CLUSTER, {"encryptionConfig": {"resources": ["secrets"]}}),)),
    ("iam-wildcards", (_policy({"Action": ["ec2:DescribeInstances", "sts:GetCallerIdentity"], "Resource": "*"}),)),
    ("iam-wildcards", (_policy({"Action": "ec2:RunInstances", "Resource": "*", "Condition": {"Bool": {"a": "b"}}}),)),
    ("iam-wildcards", (_policy({"Effect": "Deny", "Action": "*", "Resource": "*"}),)),
    ("iam-wildcards", (_policy({"Action": "logs:PutLogEvents", "Resource": "arn:aws:logs:*:*:*"}),)),
    ("iam-wildcards", (_policy({"Action": "s3:PutObject", "Resource": "arn:aws:s3:::reports/*"}),)),
    ("iam-wildcards", (_policy({"Action": "s3:Get*", "Resource": "*"}),)),
    ("iam-wildcards", (_policy({"Action": "route53:Change*", "Resource": "arn:aws:route53:::hostedzone/*"}),)),
    ("iam-wildcards", (_policy({"Action": "iam:PassRole", "Resource": "arn:aws:iam::*:role/nodes-*"}),)),
    ("iam-wildcards", (_policy({"Action": "sts:AssumeRole", "Resource": f"{ROLES}:role/*"}),)),
    ("iam-wildcards", (_policy({"Effect": "Deny", "NotAction": "iam:*", "Resource": "*"}),)),
    ("iam-wildcards", _attached("RolePolicyAttachment", "policyArn", "ReadOnlyAccess")),
    ("iam-wildcards", _attached("RolePolicyAttachment", "policyArn", "111122223333:policy/AdministratorAccess")),
    ("iam-wildcards", _attached("Role", "permissionsBoundary", "PowerUserAccess")),
    ("iam-wildcards", (_trust({"Principal": {"Service": "ec2.amazonaws.com"}}),)),
    ("iam-wildcards", (_trust({"Principal": {"Federated": "a"}, "Condition": {"StringEquals": {"a.b:sub": "c"}}}),)),
    ("iam-wildcards", (_trust({"Principal": "*", "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}}),)),
    ("daemonset-architectures", (_daemon_set("both"),)),
    ("daemonset-architectures", (_daemon_set("amd64-only", nodeSelector={"kubernetes.io/arch": "amd64"}),)),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "resources", "said"), VIOLATIONS)
def test_a_violation_is_found(rule: str, resources: tuple[DeclaredResource, ...], said: str) -> None:
    (found,) = _found(f"policy-{rule}", *resources)
    assert said in found.text


@pytest.mark.parametrize(("rule", "resources"), ALLOWED)
def test_what_follows_the_policy_passes(rule: str, resources: tuple[DeclaredResource, ...]) -> None:
    assert _found(f"policy-{rule}", *resources) == []


@pytest.mark.parametrize(
    ("rule", "unknown"),
    [
        ("architecture", _group(instanceTypes=UNKNOWN)),
        ("arm64-taint", _group(instanceTypes=["m7g.large"], taints=UNKNOWN)),
        ("public-endpoint", _cluster(endpointPublicAccess=UNKNOWN)),
        ("public-endpoint", _cluster(endpointPublicAccess=True, publicAccessCidrs=[UNKNOWN])),
        ("iam-wildcards", resource(POLICY, {"policy": UNKNOWN})),
        ("iam-wildcards", resource(ROLE, {"managedPolicyArns": [UNKNOWN]})),
        (
            "iam-wildcards",
            _trust({"Principal": "*", "Condition": {"StringNotEquals": {"aws:PrincipalOrgID": UNKNOWN}}}),
        ),
    ],
)
def test_what_is_not_known_yet_is_left_to_the_update(rule: str, unknown: DeclaredResource) -> None:
    assert _found(f"policy-{rule}", unknown) == []


def test_each_rule_has_a_policy_a_violation_and_something_that_passes() -> None:
    rules = {rule.name for rule in SECTIONS["Policies"]}
    assert sorted(policy.rule for policy in build_policies(_judge)) == sorted(rules)
    assert {f"policy-{rule}" for rule, *_ in VIOLATIONS} == rules
    assert {f"policy-{rule}" for rule, *_ in ALLOWED} == rules
