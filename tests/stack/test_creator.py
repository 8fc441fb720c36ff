"""Whether the creator of a cluster is in ``access``: roles and users, as IAM and as STS write them."""

from __future__ import annotations

import pytest

from multiarch.schema.cluster import Access, AccessEntry
from multiarch.stack.checks.access import check_creator
from multiarch.stack.origin import Origin, Place
from tests.stack.files import CONFIG, Project

ROLE = "arn:aws:iam::111122223333:role/platform"
SSO = "arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_0123456789abcdef"
USER = "arn:aws:iam::111122223333:user/people/ada"
STS = "arn:aws:sts::111122223333:assumed-role"


@pytest.mark.parametrize(
    ("listed", "creator"),
    [
        (ROLE, f"{STS}/platform/ci-4711"),
        (SSO, f"{STS}/AWSReservedSSO_Admin_0123456789abcdef/ada@example.com"),
        (USER, USER),
        (ROLE.replace("aws:iam", "aws-cn:iam"), f"{STS}/platform/ci".replace("aws:sts", "aws-cn:sts")),
    ],
)
def test_a_creator_is_recognised(listed: str, creator: str) -> None:
    others = Access(entries={"shop": AccessEntry(principal=listed, groups=["shop"])})
    for spec in (Access(admins=["arn:aws:iam::111122223333:role/other", listed]), Access(readers=[listed]), others):
        problem = check_creator(spec, creator, Origin())
        assert problem is not None
        assert problem.rule == "creator-in-access"
        assert listed in problem.message


@pytest.mark.parametrize(
    ("listed", "creator"),
    [
        (ROLE, f"{STS}/platform-ci/platform"),
        (ROLE, f"{STS.replace('1111', '9999')}/platform/ci"),
        (ROLE, "arn:aws:iam::111122223333:user/platform"),
        (USER, f"{STS}/ada/ada"),
        (ROLE, "arn:aws:iam::111122223333:root"),
        (ROLE, "arn:aws:sts::111122223333:federated-user/platform"),
    ],
)
def test_another_principal_is_not_taken_for_the_creator(listed: str, creator: str) -> None:
    assert check_creator(Access(admins=[listed]), creator, Origin()) is None


def test_the_problem_has_the_entrys_place(project: Project) -> None:
    stack = project.load(f"{CONFIG}  multiarch-eks:access:\n    admins:\n      - {USER}\n      - {ROLE}\n")
    problem = check_creator(stack.spec.access, f"{STS}/platform/ci", stack.origin)
    assert problem is not None
    assert (problem.key, problem.line) == ("access.admins[1]", 13)
    assert stack.origin.place(("access", "admins", 1)) == Place(str(problem.file), 13)
