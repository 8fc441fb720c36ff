"""Properties of any shape: the finders never fail, and say nothing of what stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multiarch.review.model import SECRET, UNKNOWN
from multiarch.review.permissions import (
    cluster_access,
    iam,
    kubernetes_rbac,
    network_access,
    public_access,
    resource_policies,
    safeguards,
    trust,
)
from tests.review.permissions.steps import change, document, said, step

FINDERS = (
    *(cluster_access, iam, kubernetes_rbac, network_access, public_access, resource_policies),
    *(safeguards, trust),
)
TEXTS = st.sampled_from(
    [
        "",
        "*",
        UNKNOWN,
        SECRET,
        "web",
        "10.0.0.0/8",
        "tcp",
        "{",
        document({}),
        document({"Effect": "Allow"}),
        "${",
        "arn:",
    ]
)
KEYS = st.sampled_from(
    ["Statement", "Effect", "cidr", "protocol", "cidrBlocks", "name", "kind", "namespace", "type", "rules"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 70_000) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)
PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "aws:iam/role:Role": ("assumeRolePolicy", "inlinePolicies", "managedPolicyArns", "permissionsBoundary", "name"),
    "aws:iam/rolePolicy:RolePolicy": ("role", "policy"),
    "aws:iam/policy:Policy": ("policy",),
    "aws:iam/policyAttachment:PolicyAttachment": ("roles", "users", "policyArn"),
    "aws:iam/groupMembership:GroupMembership": ("users", "group"),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": ("url", "clientIdLists"),
    "aws:kms/key:Key": ("policy", "enableKeyRotation", "deletionWindowInDays"),
    "aws:kms/grant:Grant": ("keyId", "granteePrincipal", "operations", "constraints"),
    "aws:sqs/queuePolicy:QueuePolicy": ("queueUrl", "policy"),
    "aws:lambda/permission:Permission": ("function", "principal", "action", "sourceArn"),
    "aws:ec2/securityGroup:SecurityGroup": ("ingress", "egress"),
    "aws:ec2/securityGroupRule:SecurityGroupRule": ("type", "protocol", "fromPort", "toPort", "cidrBlocks", "self"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ("securityGroupId", "ipProtocol", "cidrIpv4"),
    "aws:ec2/managedPrefixList:ManagedPrefixList": ("entries",),
    "aws:ec2/launchTemplate:LaunchTemplate": ("metadataOptions", "blockDeviceMappings", "networkInterfaces"),
    "aws:eks/cluster:Cluster": ("vpcConfig", "accessConfig", "encryptionConfig", "enabledClusterLogTypes", "name"),
    "aws:eks/accessEntry:AccessEntry": ("clusterName", "principalArn", "type", "kubernetesGroups"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": ("principalArn", "policyArn", "accessScope"),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("namespace", "serviceAccount", "roleArn"),
    "aws:cloudwatch/logGroup:LogGroup": ("retentionInDays", "kmsKeyId"),
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole": ("metadata", "rules", "aggregationRule"),
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": ("metadata", "roleRef", "subjects"),
    "kubernetes:core/v1:Service": ("metadata", "spec"),
    "kubernetes:core/v1:ConfigMap": ("metadata", "data"),
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass": ("spec",),
}


def inputs(type_: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(PROPERTIES[type_], VALUES))


STEPS = st.sampled_from(sorted(PROPERTIES)).flatmap(
    lambda type_: st.builds(step, st.just(type_), st.just("x"), st.none() | inputs(type_), st.none() | inputs(type_))
)


@given(st.lists(STEPS, max_size=3, unique_by=lambda each: each.urn))
def test_no_value_is_too_strange(steps: list[Any]) -> None:
    for finder in FINDERS:
        said(finder.find(change(*steps)))


@given(st.sampled_from(sorted(PROPERTIES)).flatmap(lambda type_: st.tuples(st.just(type_), inputs(type_))))
def test_nothing_is_said_of_what_stays_as_it_is(pair: tuple[str, dict[str, Any]]) -> None:
    type_, same = pair
    assert [text for finder in FINDERS for text in said(finder.find(change(step(type_, "x", same, same))))] == []
