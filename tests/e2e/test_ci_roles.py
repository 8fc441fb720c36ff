"""The example program with CI's roles, brought up by the real engine in a sandbox, changed and taken down."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sandbox.layout import CLONE
from tests.e2e.conftest import watched
from tests.e2e.world import Step, World

pytestmark = pytest.mark.e2e
STACK = "platform"
EXAMPLE = CLONE / "examples" / "09-ci-roles"
ROLE = "aws:iam/role:Role"
ROLES = ("eks-ci-images", "eks-ci-preview", "eks-ci-up-dev", "eks-ci-up-prod")
BOUNDARY = "arn:aws:iam::aws:policy/PowerUserAccess"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[World]:
    with watched(tmp_path / "roles", make_program) as world:
        yield world


def make_program(root: Path) -> World:
    """The example as a project of its own, beside what it imports."""
    world = World(root)
    world.stack_file(STACK).parent.mkdir(parents=True)
    shutil.copy(EXAMPLE / f"Pulumi.{STACK}.yaml", world.stack_file(STACK))
    shutil.copy(EXAMPLE / "__main__.py", world.root)
    settings = (EXAMPLE / "Pulumi.yaml").read_text(encoding="utf-8")
    world.settings.write_text(f"{settings}stackConfigDir: config/stacks\n", encoding="utf-8")
    for name, installed in (("components", "multiarch_eks"), ("multiarch", "multiarch")):  # as the wheel has them
        shutil.copytree(CLONE / name, world.root / installed, ignore=shutil.ignore_patterns("__pycache__"))
    return world


def set_value(world: World, *path: str, value: object) -> None:
    yaml = YAML()
    content = yaml.load(world.stack_file(STACK).read_text(encoding="utf-8"))
    place = content["config"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with world.stack_file(STACK).open("w", encoding="utf-8") as sink:
        yaml.dump(content, sink)


def test_the_roles_are_created_changed_in_place_and_deleted(program: World) -> None:
    program.sandbox("up", STACK)
    iam = program.aws(STACK).client("iam")
    assert {role["RoleName"] for role in iam.list_roles()["Roles"]} >= set(ROLES)
    prod = iam.get_role(RoleName="eks-ci-up-prod")["Role"]
    assert prod["MaxSessionDuration"] == 14400
    (statement,) = prod["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"]["Federated"].endswith(":oidc-provider/token.actions.githubusercontent.com")
    subjects = statement["Condition"]["StringEquals"]["token.actions.githubusercontent.com:sub"]
    assert subjects == ["repo:example/clusters:environment:prod"]
    outputs = program.outputs(STACK)
    assert sorted(outputs["updateRoleArns"]) == ["dev", "prod"]
    assert outputs["previewRoleArn"] == iam.get_role(RoleName="eks-ci-preview")["Role"]["Arn"]

    set_value(program, "ci-roles:environments", "prod", "sessionSeconds", value=7200)
    assert program.up(STACK) == [Step("update", f"{ROLE} up-prod", frozenset({"maxSessionDuration"}))]
    assert iam.get_role(RoleName="eks-ci-up-prod")["Role"]["MaxSessionDuration"] == 7200
    set_value(program, "ci-roles:permissionsBoundary", value=BOUNDARY)
    assert {step.op for step in program.up(STACK)} == {"update"}
    bound = iam.get_role(RoleName="eks-ci-preview")["Role"]["PermissionsBoundary"]
    assert bound["PermissionsBoundaryArn"] == BOUNDARY
    assert program.preview(STACK) == []

    program.sandbox("down")
