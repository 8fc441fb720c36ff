"""Properties of any shape: nothing fails, nothing is found of what stays, and a grant more is found."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multiarch.observed.resources.iam_documents import ALLOW, DENY
from multiarch.observed.resources.paths import SECRET, UNKNOWN
from multiarch.review.permissions.grants import Grant, find_new_grants
from tests.review.permissions.steps import document, find, step

TEXTS = st.sampled_from(["", "*", UNKNOWN, SECRET, "10.0.0.0/8", "{", document({"Effect": "Allow"})])
KEYS = st.sampled_from(
    ["Statement", "Effect", "cidr", "protocol", "cidrBlocks", "name", "kind", "namespace", "type", "rules", "policy"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 70_000) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)
PROPERTIES = {
    "aws:iam/role:Role": "assumeRolePolicy inlinePolicies managedPolicyArns permissionsBoundary name",
    "aws:iam/policyAttachment:PolicyAttachment": "roles users policyArn",
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": "url clientIdLists",
    "aws:kms/key:Key": "policy enableKeyRotation deletionWindowInDays",
    "aws:sqs/queuePolicy:QueuePolicy": "queueUrl policy",
    "aws:ec2/securityGroup:SecurityGroup": "ingress egress",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "securityGroupId ipProtocol cidrIpv4",
    "aws:ec2/launchTemplate:LaunchTemplate": "metadataOptions blockDeviceMappings networkInterfaces",
    "aws:ec2/flowLog:FlowLog": "vpcId trafficType",
    "aws:eks/cluster:Cluster": "vpcConfig accessConfig encryptionConfig enabledClusterLogTypes name",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": "principalArn policyArn accessScope",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": "namespace serviceAccount roleArn",
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole": "metadata rules aggregationRule",
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": "metadata roleRef subjects",
    "kubernetes:core/v1:Service": "metadata spec",
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass": "spec",
}


def inputs(type_: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(PROPERTIES[type_].split(), VALUES))


STEPS = st.sampled_from(sorted(PROPERTIES)).flatmap(
    lambda type_: st.builds(step, st.just(type_), st.just("x"), st.none() | inputs(type_), st.none() | inputs(type_))
)
FIELDS = st.sampled_from(["", "*", "a:*", "a:B", "a:?", "x"])
GRANTS = st.builds(
    Grant, FIELDS, FIELDS, FIELDS, st.sampled_from(["", '{"Bool": {"k": ["true"]}}']), st.sampled_from([ALLOW, DENY])
)


@given(st.lists(STEPS, max_size=3, unique_by=lambda each: each.urn))
def test_no_value_is_too_strange(steps: list[Any]) -> None:
    find(*steps)


@given(st.sampled_from(sorted(PROPERTIES)).flatmap(lambda type_: st.tuples(st.just(type_), inputs(type_))))
def test_nothing_is_said_of_what_stays_as_it_is(pair: tuple[str, dict[str, Any]]) -> None:
    type_, same = pair
    assert find(step(type_, "x", same, same)) == []


@given(st.lists(GRANTS), st.randoms(use_true_random=False))
def test_grants_compared_with_themselves_have_nothing_new_and_one_that_nothing_covers_is_found(
    grants: list[Grant],
    random: Any,  # noqa: ANN401
) -> None:
    shuffled = random.sample(grants, len(grants))
    assert find_new_grants(grants, shuffled) == {}
    more, denial = Grant("new:Action", "new"), Grant("new:Action", "new", effect=DENY)
    is_covered = any(each.effect == ALLOW and {each.action, each.resource} == {"*"} for each in grants)
    if not is_covered:
        assert [*find_new_grants(grants, [*shuffled, more])] == [more]
    assert find_new_grants([*grants, denial], [*shuffled, denial]) == {}
