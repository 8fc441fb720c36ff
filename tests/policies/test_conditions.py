"""Whether a condition limits who may assume a role, or use what a resource's policy lets in."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.facts.unknown_values import UNKNOWN_TEXT
from multiarch.policies.conditions import restricts_principals

GITHUB = "token.actions.githubusercontent.com"
CLUSTER = "oidc.eks.eu-west-1.amazonaws.com/id/0123ABCD"
OWN = "gitlab.shop.example"

LIMITS: list[dict[str, Any]] = [
    {"StringEquals": {f"{GITHUB}:sub": "repo:shop/web:ref:refs/heads/main"}},
    {"StringLike": {f"{GITHUB}:sub": ["repo:shop/*", "repo:shop/web:*"]}},
    {"StringEquals": {f"{GITHUB}:repository_owner": "shop"}, "StringLike": {f"{GITHUB}:sub": "*"}},
    {"StringLikeIfExists": {f"{GITHUB}:sub": "repo:shop/*"}},
    {"ForAnyValue:StringLike": {f"{GITHUB}:sub": "repo:shop/*"}},
    {"StringLike": {"gitlab.com:sub": "project_path:shop/web:*"}},
    {"StringLike": {f"{OWN}:sub": "project_path:shop*"}},
    {"StringLike": {"app.terraform.io:sub": "organization:shop:project:*:workspace:*:run_phase:apply"}},
    {"StringEquals": {f"{OWN}:aud": "client"}},
    {"StringEquals": {"SAML:aud": "https://signin.aws.amazon.com/saml"}},
    {"StringLike": {f"{CLUSTER}:sub": "system:serviceaccount:shop:*"}},
    {"StringLike": {f"{CLUSTER}:sub": "system:serviceaccount:*:karpenter"}},
    {"StringEquals": {"aws:PrincipalOrgID": "o-1"}},
    {"StringEquals": {"sts:ExternalId": "7"}},
    {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/*"}},
    {"ArnLike": {"aws:SourceArn": "arn:aws:s3:::reports"}},
    {"ArnEquals": {"aws:SourceArn": "arn:aws:sns:eu-west-1:111122223333:*"}},
    {"IpAddress": {"aws:SourceIp": ["192.0.2.0/24"]}},
    {"StringEquals": {"aws:PrincipalOrgID": "*"}},
    {"StringLike": {"aws:PrincipalOrgID": "${aws:ResourceOrgID}"}},
]
LIMITS_NOBODY: list[Any] = [
    None,
    {},
    "StringEquals",
    {"StringEquals": "x"},
    {"StringLike": {f"{GITHUB}:sub": "*"}},
    {"StringLike": {f"{GITHUB}:sub": ["repo:shop/web:*", "**"]}},
    {"StringLike": {f"{GITHUB}:sub": "repo:*"}},
    {"StringLike": {f"{GITHUB}:sub": "repo:*/*:ref:refs/heads/main"}},
    {"StringLike": {f"{GITHUB}:sub": "repo:shop*"}},
    {"StringLike": {f"{GITHUB}:sub": "*:environment:prod"}},
    {"StringLike": {"gitlab.com:sub": "project_path:shop*"}},
    {"StringLike": {f"{OWN}:sub": "project_path:*"}},
    {"StringEquals": {f"{GITHUB}:aud": "sts.amazonaws.com"}},
    {"StringEquals": {f"{GITHUB}:ref": "refs/heads/main"}},
    {"StringEquals": {f"{GITHUB.title()}:AUD": "sts.amazonaws.com"}},
    {"StringEquals": {"gitlab.com:aud": "https://gitlab.com"}},
    {"StringEquals": {f"{CLUSTER}:aud": "sts.amazonaws.com"}},
    {"StringEquals": {"app.terraform.io:aud": "aws.workload.identity"}},
    {"StringLike": {"agent.buildkite.com:sub": "organization:*:pipeline:deploy:*"}},
    {"StringLike": {f"{CLUSTER}:sub": "system:serviceaccount:*:*"}},
    {"ForAnyValue:StringLike": {"cognito-identity.amazonaws.com:amr": "authenticated"}},
    {"StringNotEquals": {f"{GITHUB}:sub": "repo:shop/web:pull_request"}},
    {"ForAllValues:StringEquals": {f"{GITHUB}:repository_owner": "shop"}},
    {"StringEqualsIfExists": {"aws:PrincipalOrgID": "o-1"}},
    {"Null": {f"{GITHUB}:sub": "false"}},
    {"Bool": {"aws:SecureTransport": "true"}, "DateLessThan": {"aws:CurrentTime": "2027-01-01T00:00:00Z"}},
    {"StringEquals": {"sts:RoleSessionName": "deploy", "aws:PrincipalTag/team": "shop"}},
    {"IpAddress": {"aws:SourceIp": ["192.0.2.0/24", "0.0.0.0/0"]}},
    {"NotIpAddress": {"aws:SourceIp": "192.0.2.0/24"}},
    {"StringLike": {"aws:PrincipalOrgID": "?*"}},
    {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:role/deploy"}},
    {"ArnLike": {"aws:PrincipalArn": "arn:*"}},
    {"ArnLike": {"aws:SourceArn": "arn:aws:s3:::*"}},
    {"StringLike": {"aws:SourceArn": "arn:aws:lambda:*:*:function:deploy"}},
]


@pytest.mark.parametrize("condition", LIMITS, ids=str)
def test_a_condition_that_names_somebody_limits_who(condition: object) -> None:
    assert restricts_principals(condition)


@pytest.mark.parametrize("condition", LIMITS_NOBODY, ids=str)
def test_a_condition_that_everybody_can_meet_limits_nobody(condition: object) -> None:
    assert not restricts_principals(condition)


def test_a_test_that_limits_is_enough_beside_others() -> None:
    both = {
        "StringLike": {f"{GITHUB}:sub": "repo:shop/*", f"{GITHUB}:aud": "*"},
        "Bool": {"aws:SecureTransport": "true"},
    }
    assert restricts_principals(both)
    assert restricts_principals({"StringEquals": {f"{GITHUB}:sub": UNKNOWN_TEXT}})
