"""``stack access`` finds a permission set's role, with the path that an access entry needs, in the sandbox's IAM."""

from __future__ import annotations

import boto3
import pytest

from tests.cli.aws import served
from tests.cli.running import type_of_run

pytestmark = pytest.mark.e2e

PATH = "/aws-reserved/sso.amazonaws.com/eu-west-1/"
ROLE = "AWSReservedSSO_Platform_Admin_0123456789abcdef"


def test_the_role_of_a_permission_set_is_shown_with_its_path(run: type_of_run, monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as url:
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        nothing = run("stack", "access", "--sso", "Admin")
        assert nothing.code == 3
        assert "Assign the permission set" in nothing.err
        iam = boto3.client("iam", region_name="eu-west-1")
        iam.create_role(RoleName=ROLE, Path=PATH, AssumeRolePolicyDocument="{}")
        iam.create_role(RoleName=ROLE.replace("Platform", "Other"), AssumeRolePolicyDocument="{}")
        found = run("stack", "access", "--sso", "Platform_Admin", "-o", "json")
        assert found.code == 0, found.err
        (role,) = found.json["roles"]
        assert role["arn"].endswith(f":role{PATH}{ROLE}")
        assert role["permissionSet"] == "Platform_Admin"
        # Another set whose name ends like this one is not it.
        other = run("stack", "access", "--sso", "Admin")
        assert other.code == 3
        assert "It has roles of: Platform_Admin." in other.err
