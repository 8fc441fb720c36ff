"""Whether a condition limits who may assume a role, or use what a resource's policy lets in."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.policies.conditions import restricts_principals, restricts_requests

GITHUB = "token.actions.githubusercontent.com"
CLUSTER = "oidc.eks.eu-west-1.amazonaws.com/id/0123ABCD"
OWN = "gitlab.shop.example"

ACCOUNT_KEYS = (
    "aws:PrincipalAccount aws:PrincipalOrgID aws:PrincipalServiceName aws:SourceAccount aws:SourceIp aws:SourceOrgID "
    "aws:SourceOwner aws:SourceVpc aws:SourceVpce aws:VpceAccount aws:VpceOrgID sts:ExternalId events:creatorAccount "
    "kms:CallerAccount s3:DataAccessPointAccount"
)
ARN_KEYS = (
    "aws:PrincipalArn aws:SourceArn aws:SourceVpcArn aws:FederatedProvider s3:DataAccessPointArn ec2:SourceInstanceArn "
    "ssm:SourceInstanceArn lambda:SourceFunctionArn elasticfilesystem:AccessPointArn"
)
PATH_CLAIMS = "repo repository job_workflow_ref project_path namespace_path"
CLAIMS = (
    "repository_id repository_owner repository_owner_id actor actor_id enterprise enterprise_id organization account "
    "project_id namespace_id user_login user_id user_email"
)
SHARED = f"{GITHUB} gitlab.com app.terraform.io agent.buildkite.com oidc.codefresh.io scalr.io"
NAMING = "StringEquals StringEqualsIgnoreCase StringLike NumericEquals BinaryEquals ArnLike ArnEquals"
OTHERS = "StringNotEquals StringNotLike ArnNotEquals ArnNotLike NumericNotEquals NumericLessThan DateEquals"
KEYS_OF_NOBODY = "aws:username aws:ResourceAccount kms:ViaService sts:RoleSessionName aws:PrincipalTag/team"

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
    {"StringLike": {f"{GITHUB}:repository": "shop/*"}},
    {"StringEquals": {f"{GITHUB}:repository_owner_id": "42", f"{GITHUB}:environment": "prod"}},
    {"StringLike": {f"{GITHUB}:job_workflow_ref": "shop/actions/.github/workflows/deploy.yml@*"}},
    {"StringEquals": {f"{GITHUB}:actor": "octocat"}},
    {"StringLike": {f"{GITHUB}:sub": "repository_owner:shop:environment:*"}},
    {"StringLike": {f"{GITHUB}:sub": "repo:*:job_workflow_ref:shop/actions/*"}},
    {"StringEquals": {f"{OWN}:namespace_path": "shop"}},
    {"ForAllValues:StringLike": {f"{GITHUB}:sub": "repo:shop/*"}, "Null": {f"{GITHUB}:sub": "false"}},
    {"StringLike": {"aws:PrincipalArn": "arn:*:iam::111122223333:role/*"}},
    {"ArnLike": {"aws:PrincipalArn": ["arn:aws:iam::444455556666:root", "arn:aws:iam::${aws:ResourceAccount}:role/*"]}},
    {"StringEquals": {"aws:SourceVpce": "vpce-1", "aws:ViaAWSService": "false"}},
    {"ForAnyValue:StringLike": {"aws:PrincipalOrgPaths": "o-1/r-1/ou-1/*"}},
    {"StringLike": {"aws:userid": "AROA1:*"}},
    {"StringEquals": {"kms:CallerAccount": "111122223333", "kms:ViaService": "s3.eu-west-1.amazonaws.com"}},
    {"ArnLike": {"aws:SourceArn": ["arn:aws:s3:::reports/*", "arn:aws:route53:::hostedzone/Z1"]}},
    {"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}},
    {"IpAddress": {"aws:SourceIp": ["8.0.0.0/8", "2001:db8::/32", "10.0.0.0/8"]}},
    *({"StringEquals": {each: "7"}} for each in ACCOUNT_KEYS.split()),
    *({"ArnLike": {each: "arn:aws:iam::111122223333:x/*"}} for each in ARN_KEYS.split()),
    *({"ForAnyValue:StringLike": {f"aws:{each}OrgPaths": "o-1/*"}} for each in ("Principal", "Source", "Vpce")),
    *({"StringLike": {f"{GITHUB}:{each}": "shop/*"}} for each in PATH_CLAIMS.split()),
    *({"StringEquals": {f"{GITHUB}:{each}": "shop"}} for each in CLAIMS.split()),
    *({each: {"aws:PrincipalOrgID": "7"}} for each in NAMING.split()),
]
LIMITS_NOBODY: list[Any] = [
    None,
    {},
    "StringEquals",
    {"StringEquals": "x"},
    {"StringLike": {f"{GITHUB}:sub": "*"}},
    {"StringLike": {f"{GITHUB}:sub": ["repo:shop/web:*", "**"]}},
    {"StringLike": {f"{GITHUB}:sub": "repo:*"}},
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
    {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:role/deploy"}},
    {"ArnLike": {"aws:PrincipalArn": "arn:*"}},
    {"ArnLike": {"aws:SourceArn": "arn:aws:s3:::*"}},
    {"StringLike": {"aws:SourceArn": "arn:aws:lambda:*:*:function:deploy"}},
    {"StringLike": {f"{GITHUB}:repository": "*/infra"}},
    {"StringLike": {f"{GITHUB}:job_workflow_ref": "*/actions/.github/workflows/deploy.yml@refs/heads/main"}},
    {"StringLike": {f"{GITHUB}:repository_owner": "shop*"}},
    {"StringLike": {f"{GITHUB}:actor": "*[bot]"}},
    {"StringEquals": {f"{GITHUB}:actor": "dependabot[bot]"}},
    {"StringEquals": {f"{GITHUB}:workflow": "deploy", f"{GITHUB}:environment": "prod"}},
    {"StringEquals": {f"{GITHUB}:sub": "environment:prod"}},
    {"StringLike": {"gitlab.com:sub": "*:ref_type:branch:ref:main"}},
    {"StringLike": {"app.terraform.io:sub": "organization:*:project:shop:*"}},
    {"StringLike": {f"{CLUSTER}:sub": "system:*"}},
    {"ForAllValues:StringLike": {f"{GITHUB}:sub": "repo:shop/*"}, "Null": {f"{GITHUB}:sub": "true"}},
    {"StringLike": {"aws:PrincipalArn": "*:role/ci"}},
    {"StringLike": {"aws:PrincipalArn": "arn:aws:iam::${aws:PrincipalAccount}:role/ci"}},
    {"StringEquals": {"aws:PrincipalOrgID": "${aws:PrincipalOrgID}"}},
    {"StringLike": {"aws:PrincipalOrgID": "o-*"}},
    {"ForAnyValue:StringLike": {"aws:PrincipalOrgPaths": "o-*/r-1/*"}},
    {"StringLike": {"aws:userid": "*:deploy"}},
    {"StringEquals": {"aws:username": "deploy"}},
    {"Bool": {"aws:ViaAWSService": "false"}},
    {"Bool": {"aws:PrincipalIsAWSService": "true"}},
    {"StringEquals": {"aws:ResourceAccount": "111122223333", "aws:RequestTag/team": "shop"}},
    {"StringEquals": {"kms:ViaService": "s3.eu-west-1.amazonaws.com", "kms:EncryptionContext:team": "shop"}},
    {"ArnLike": {"aws:SourceArn": "arn:aws:s3:::reports-*"}},
    {"IpAddress": {"aws:SourceIp": ["0.0.0.0/1", "128.0.0.0/1"]}},
    {"IpAddress": {"aws:SourceIp": "::/1"}},
    {"IpAddress": {"aws:VpcSourceIp": "10.0.0.0/16"}},
    {"StringLike": {f"{OWN}:sub": "repo:*"}},
    *({"StringEquals": {f"{each}:aud": "sts.amazonaws.com"}} for each in SHARED.split()),
    *({"StringLike": {f"{GITHUB}:{each}": "shop*"}} for each in f"{PATH_CLAIMS} {CLAIMS}".split()),
    *({"StringEquals": {each: "shop"}} for each in KEYS_OF_NOBODY.split()),
    *({each: {"aws:PrincipalOrgID": "7"}} for each in OTHERS.split()),
    *({each: {"aws:PrincipalArn": "arn:aws:iam::*:role/x"}} for each in ("StringLike", "ArnLike", "ArnEquals")),
]


@pytest.mark.parametrize("condition", LIMITS, ids=str)
def test_a_condition_that_names_somebody_limits_who(condition: object) -> None:
    assert restricts_principals(condition)


@pytest.mark.parametrize("condition", LIMITS_NOBODY, ids=str)
def test_a_condition_that_everybody_can_meet_limits_nobody(condition: object) -> None:
    assert not restricts_principals(condition)


@pytest.mark.parametrize(
    ("condition", "limits"),
    [
        ({"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}, True),
        ({"StringNotEquals": {"aws:ResourceTag/team": "web"}}, True),
        ({"StringLike": {"ec2:ResourceTag/team": "shop-*"}, "Bool": {"aws:SecureTransport": "true"}}, True),
        ({}, False),
        ({"Bool": {"aws:SecureTransport": "true"}}, False),
        ({"StringLike": {"iam:PassedToService": ["ec2.amazonaws.com", "*"]}}, False),
        ({"IpAddress": {"aws:SourceIp": "0.0.0.0/0"}}, False),
    ],
    ids=str,
)
def test_a_condition_of_a_permission_limits_what_its_holder_may_do(condition: object, limits: object) -> None:
    assert restricts_requests(condition) is limits
