"""Roles of CI: who may assume them, and that the one for previews reads what the components declare."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import botocore.session
import pytest

from components import rendering
from components.ci.permissions import LOOK_UPS, READS, State
from components.ci.roles import CiRoles, CiRolesArgs, Environment
from components.ci.trust import GitHub, GitLab, Issuer
from components.component import Naming
from components.rendering.marked_values import _CALLS
from multiarch.errors import MultiarchError
from multiarch.observed.resources.declared import DeclaredResource
from tests.components import declared
from tests.components.declared import World

PROVIDER = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
ENTRY_POLICY = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
KEY = "arn:aws:kms:eu-west-1:111122223333:key/1"
GITHUB, GITLAB = GitHub("example/clusters"), GitLab("example/platform/clusters")
# What AWS's component for clusters declares besides: seen in previews by the engine.
CHILDREN_OF_CLUSTER = {"aws:eks/cluster:Cluster", "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"}


BOUNDARIES = tuple(f"arn:aws:iam::111122223333:policy/{name}" for name in ("ci", "teams"))


def roles(issuers: Sequence[Issuer] = (GITHUB,), **settings: Any) -> list[DeclaredResource]:
    async def program() -> None:
        CiRoles("ci", CiRolesArgs(naming=Naming("eks-ci", ()), issuers=issuers, **settings))

    return list(rendering.record(program, stack="platform", region="eu-west-1").resources)


@pytest.fixture(scope="module")
def plain() -> list[DeclaredResource]:
    return roles()


@pytest.fixture(scope="module")
def made() -> list[DeclaredResource]:
    """Roles with all that can be set."""
    return roles(
        (GITHUB, GITLAB),
        environments=[Environment("prod", [ADMINISTRATOR], 14400)],
        branch="release",
        state=State("states", [KEY]),
        clusters=["shop-dev"],
        repositories=["shop/api"],
        permissions_boundary=BOUNDARIES[0],
        path="/ci/",
        required_boundary=BOUNDARIES[1],
    )


def one(resources: list[DeclaredResource], type_: str, name: str) -> dict[str, Any]:
    (found,) = [resource for resource in resources if (resource.type, resource.name) == (type_, name)]
    return dict(found.inputs)


def trusted(resources: list[DeclaredResource], role: str) -> list[dict[str, Any]]:
    statements: list[dict[str, Any]] = json.loads(one(resources, declared.ROLE, role)["assumeRolePolicy"])["Statement"]
    return statements


def statements(resources: list[DeclaredResource], name: str) -> dict[str, dict[str, Any]]:
    policy = json.loads(one(resources, declared.ROLE_POLICY, name)["policy"])
    return {row["Sid"]: row for row in policy["Statement"]}


def test_github_is_trusted_for_pull_requests_and_the_branch_and_nothing_else(plain: list[DeclaredResource]) -> None:
    (statement,) = trusted(plain, "preview")
    assert statement == {
        "Sid": "GitHub",
        "Effect": "Allow",
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Principal": {"Federated": "arn:aws:iam::111122223333:<OpenIdConnectProvider:github>"},
        "Condition": {
            "StringEquals": {
                "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
                "token.actions.githubusercontent.com:sub": [
                    "repo:example/clusters:pull_request",
                    "repo:example/clusters:ref:refs/heads/main",
                ],
            }
        },
    }


def test_gitlab_is_trusted_for_its_branches_and_each_issuer_has_a_statement_of_its_own(
    made: list[DeclaredResource],
) -> None:
    found = trusted(made, "preview")
    assert [row["Sid"] for row in found] == ["GitHub", "GitLab"]
    assert found[1]["Condition"] == {
        "StringEquals": {"gitlab.com:aud": "https://gitlab.com"},
        "StringLike": {"gitlab.com:sub": ["project_path:example/platform/clusters:ref_type:branch:ref:*"]},
    }


def test_updates_are_trusted_by_environment_on_github_and_by_branch_on_gitlab(made: list[DeclaredResource]) -> None:
    github, gitlab = (row["Condition"]["StringEquals"] for row in trusted(made, "up-prod"))
    assert github["token.actions.githubusercontent.com:sub"] == ["repo:example/clusters:environment:prod"]
    assert gitlab["gitlab.com:sub"] == ["project_path:example/platform/clusters:ref_type:branch:ref:release"]
    role = one(made, declared.ROLE, "up-prod")
    assert (role["name"], role["maxSessionDuration"]) == ("eks-ci-up-prod", 14400)
    assert one(made, declared.ATTACHMENT, "up-prod-0")["policyArn"] == ADMINISTRATOR


def test_images_are_pushed_from_the_branch_and_from_tags_to_the_listed_repositories(
    made: list[DeclaredResource], plain: list[DeclaredResource]
) -> None:
    github, gitlab = (row["Condition"]["StringLike"] for row in trusted(made, "images"))
    assert github["token.actions.githubusercontent.com:sub"][1] == "repo:example/clusters:ref:refs/tags/*"
    assert gitlab["gitlab.com:sub"][1] == "project_path:example/platform/clusters:ref_type:tag:ref:*"
    policy = statements(made, "images")
    assert policy["Images"]["Resource"] == ["arn:aws:ecr:*:111122223333:repository/shop/api"]
    assert policy["LogIn"]["Action"] == ["ecr:GetAuthorizationToken"]
    assert "images" not in {role.name for role in plain if role.type == declared.ROLE}


def test_repositories_may_have_ids_and_a_provider_that_exists_is_used(made: list[DeclaredResource]) -> None:
    """Repositories with immutable subject claims are named with their IDs."""
    arn = "arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"
    found = roles((GitHub("octocat@123456/my-repo@456789", provider_arn=arn),))
    (statement,) = trusted(found, "preview")
    subjects = statement["Condition"]["StringEquals"]["token.actions.githubusercontent.com:sub"]
    assert subjects[0] == "repo:octocat@123456/my-repo@456789:pull_request"
    assert statement["Principal"] == {"Federated": arn}
    assert PROVIDER not in {resource.type for resource in found}
    created = one(made, PROVIDER, "gitlab")
    assert (created["url"], created["clientIdLists"]) == ("https://gitlab.com", ["https://gitlab.com"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: GitHub("example/*"),
        lambda: GitHub("example"),
        lambda: GitHub("example/clusters:environment:prod"),
        lambda: GitLab("example/?"),
        lambda: GitLab("clusters"),
        lambda: roles(branch="*"),
        lambda: roles(environments=[Environment("prod*", [])]),
    ],
)
def test_what_would_widen_the_trust_is_rejected(make: Callable[[], object]) -> None:
    with pytest.raises(MultiarchError, match="is invalid in a trust policy"):
        make()


def test_a_boundary_limits_every_role_and_those_that_updates_create(made: list[DeclaredResource]) -> None:
    found = [role for role in made if role.type == declared.ROLE]
    assert {role.name for role in found} == {"images", "preview", "up-prod"}
    assert {(role.inputs["permissionsBoundary"], role.inputs["path"]) for role in found} == {(BOUNDARIES[0], "/ci/")}
    (statement, *_) = json.loads(one(made, declared.ROLE_POLICY, "up-prod-boundary")["policy"])["Statement"]
    assert (statement["Effect"], "iam:CreateRole" in statement["Action"]) == ("Deny", True)
    assert statement["Condition"] == {"StringNotEquals": {"iam:PermissionsBoundary": BOUNDARIES[1]}}


def test_the_state_is_read_by_previews_and_written_by_updates_alone(
    made: list[DeclaredResource], plain: list[DeclaredResource]
) -> None:
    read, write = statements(made, "preview"), statements(made, "up-prod-state")
    assert read["State"]["Action"] == ["s3:GetObject"]
    assert read["StateKeys"] == {"Sid": "StateKeys", "Effect": "Allow", "Action": ["kms:Decrypt"], "Resource": [KEY]}
    assert write["State"]["Action"] == ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
    assert read["State"]["Resource"] == write["State"]["Resource"] == "arn:aws:s3:::states/*"
    assert read["ListState"]["Resource"] == "arn:aws:s3:::states"
    assert not {"State", "ListState", "StateKeys"} & set(statements(plain, "preview"))


def test_objects_in_clusters_are_read_with_an_access_entry(made: list[DeclaredResource]) -> None:
    assert one(made, declared.ACCESS_ENTRY, "preview-shop-dev")["clusterName"] == "shop-dev"
    assert one(made, ENTRY_POLICY, "preview-shop-dev")["policyArn"].endswith("/AmazonEKSAdminViewPolicy")


# -- what previews read ------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_every_resource_type_that_the_components_declare_is_read_and_no_other(
    full: World, changed: World, migrating: World, ipv6: World, made: list[DeclaredResource]
) -> None:
    found = {each.type for world in (full, changed, migrating, ipv6) for each in world.resources}
    found |= {resource.type for resource in made} | CHILDREN_OF_CLUSTER
    assert {type_ for type_ in found if type_.startswith("aws:")} == set(READS)


def test_every_look_up_that_the_components_make_is_allowed_and_no_other() -> None:
    assert set(LOOK_UPS) == set(_CALLS)


def test_each_action_is_an_operation_that_reads_no_secrets_or_data(plain: list[DeclaredResource]) -> None:
    """Previews run a branch's code: the account's parameters, objects and logs are not for it."""
    session = botocore.session.get_session()
    found = statements(plain, "preview")
    actions = [action for row in found.values() for action in row["Action"]]
    assert len(actions) == len(set(actions))
    for action in actions:
        service, name = action.split(":")
        assert name in session.get_service_model(service).operation_names
        assert name.startswith(("Describe", "Get", "List"))
    assert not {"logs:GetLogEvents", "s3:GetObject", "secretsmanager:GetSecretValue"} & set(actions)
    assert found["ReadSsmParameterAwsService"]["Resource"] == "arn:aws:ssm:*::parameter/aws/service/*"


def test_resources_are_the_accounts_wherever_an_action_takes_one(plain: list[DeclaredResource]) -> None:
    found = statements(plain, "preview")
    anywhere = [sid for sid, row in found.items() if row["Resource"] == "*"]
    assert anywhere == ["Read"]
    services = {action.split(":")[0] for action in found["Read"]["Action"]}
    assert services == {"autoscaling", "ec2", "eks", "kms", "pricing"}
    for sid, row in found.items():
        assert sid == "Read" or ":111122223333:" in row["Resource"] or "::parameter/aws/" in row["Resource"]


def test_the_policy_fits_into_a_role(made: list[DeclaredResource]) -> None:
    """IAM's limit for all inline policies of a role, without white space."""
    policy = json.loads(one(made, declared.ROLE_POLICY, "preview")["policy"])
    assert len(json.dumps(policy, separators=(",", ":"))) < 10_240
