"""Whose identity the Kubernetes provider gets: the AWS provider's, or the stack is rejected."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from multiarch.errors import StackError
from multiarch.stack.identity import AwsIdentity
from multiarch.stack.load import load_from_engine
from tests.stack.files import CONFIG, PROJECT, Project

ROLE = "arn:aws:iam::111122223333:role/deployer"
ENGINE: Mapping[str, str] = {
    "multiarch-eks:team": "shop",
    "multiarch-eks:environment": "dev",
    "multiarch-eks:owner": "shop@example.com",
    "multiarch-eks:costCenter": "4711",
    "multiarch-eks:nodeGroups": json.dumps({"web": {"instanceTypes": ["m7i.large"]}}),
}


def of_engine(config: Mapping[str, str]) -> AwsIdentity:
    return load_from_engine("shop-dev", {**ENGINE, **config}, file=None, project_file=None).identity


def test_without_settings_the_identity_is_the_environments(project: Project) -> None:
    assert project.load(CONFIG).identity == of_engine({}) == AwsIdentity(None, None)


def test_profile_and_role_are_read_from_the_file_and_from_the_engine(project: Project) -> None:
    wanted = AwsIdentity("deploy", ROLE)
    text = f"{CONFIG}  aws:profile: deploy\n  aws:assumeRoles:\n    - roleArn: {ROLE}\n      sessionName: ci\n"
    assert project.load(text).identity == wanted
    roles = json.dumps([{"roleArn": ROLE, "duration": "1h"}])
    assert of_engine({"aws:profile": "deploy", "aws:assumeRoles": roles}) == wanted


def test_a_profile_of_the_whole_project_counts_unless_the_stack_has_its_own(project: Project) -> None:
    of_project = f"{PROJECT}config:\n  aws:profile: everybody\n"
    assert project.load(CONFIG, project=of_project).identity.profile == "everybody"
    assert project.load(f"{CONFIG}  aws:profile: own\n", project=of_project).identity.profile == "own"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            f"aws:assumeRoles: [{{roleArn: {ROLE}}}, {{roleArn: {ROLE}}}]",
            "aws:assumeRoles: the Kubernetes provider assumes one role, not several in a chain.",
        ),
        (
            f"aws:assumeRoles: [{{roleArn: {ROLE}, externalId: xyz}}]",
            "aws:assumeRoles[0].externalId: externalId of an assumed role does not reach the Kubernetes provider.",
        ),
        ("aws:assumeRoles: [{sessionName: ci}]", "aws:assumeRoles: the role has no roleArn."),
        ("aws:assumeRoles: {roleArn: x}", "aws:assumeRoles: aws:assumeRoles is not a list of mappings."),
        ("aws:assumeRole: {roleArn: x}", "aws:assumeRole: aws:assumeRole is not read by the AWS provider."),
        ("aws:secretKey: {secure: v1:abc}", "aws:secretKey: aws:secretKey does not reach the Kubernetes provider."),
        (
            "aws:assumeRoleWithWebIdentity: {roleArn: x}",
            "aws:assumeRoleWithWebIdentity: aws:assumeRoleWithWebIdentity does not reach the Kubernetes provider.",
        ),
    ],
)
def test_an_identity_that_a_kubeconfig_cant_name_is_rejected_with_its_line(
    setting: str, said: str, project: Project
) -> None:
    (line,) = project.lines(f"{CONFIG}  {setting}\n")
    assert line.startswith(f"Pulumi.shop-dev.yaml:10 {said}")


def test_a_secret_is_never_repeated() -> None:
    with pytest.raises(StackError) as rejected:
        of_engine({"aws:accessKey": "AKIAEXAMPLE", "aws:secretKey": "hush", "aws:token": "hush"})
    assert len(rejected.value.problems) == 3
    assert "hush" not in str(rejected.value)
    assert "AKIAEXAMPLE" not in str(rejected.value)
    assert "aws:profile" in str(rejected.value)
