"""Who may assume a role after a change and not before."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.review.model import UNKNOWN
from multiarch.review.permissions.trust import find
from tests.review.permissions.steps import ROLE, TRUST, change, document, said, step

PROVIDER = "arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"
SUBJECT = "token.actions.githubusercontent.com:sub"


def trust(old: str | None, new: object) -> list[str]:
    before = None if old is None else {"assumeRolePolicy": old}
    return said(find(change(step(ROLE, "deploy", before, {"assumeRolePolicy": new}))))


def federated(**condition: Any) -> dict[str, Any]:
    return {
        "Effect": "Allow",
        "Principal": {"Federated": PROVIDER},
        "Action": "sts:AssumeRoleWithWebIdentity",
        **({"Condition": condition} if condition else {}),
    }


def test_a_new_principal_is_named() -> None:
    more = TRUST | {"Principal": {"Service": "ec2.amazonaws.com", "AWS": "arn:aws:iam::444455556666:root"}}
    assert trust(document(TRUST), document(more)) == [
        (
            "HIGH widen-trust: IAM role deploy may be assumed more widely: sts:AssumeRole for "
            "arn:aws:iam::444455556666:root"
        )
    ]


def test_an_account_may_be_written_as_its_number_or_its_root() -> None:
    old, new = (TRUST | {"Principal": {"AWS": each}} for each in ("arn:aws:iam::444455556666:root", "444455556666"))
    assert trust(document(old), document(new)) == []


def test_a_looser_condition_is_named_with_the_one_before() -> None:
    old = federated(StringEquals={SUBJECT: "repo:shop/web:ref:refs/heads/main"})
    new = federated(StringLike={SUBJECT: "repo:shop/web:*"})
    matter = f"sts:AssumeRoleWithWebIdentity for federated {PROVIDER}"
    earlier = f"before only if {SUBJECT} StringEquals repo:shop/web:ref:refs/heads/main"
    assert trust(document(old), document(new)) == [
        (
            f"HIGH widen-trust: IAM role deploy may be assumed more widely: {matter} "
            f"if {SUBJECT} StringLike repo:shop/web:*; {earlier}"
        )
    ]
    assert trust(document(old), document(federated())) == [
        f"HIGH widen-trust: IAM role deploy may be assumed more widely: {matter}; {earlier}"
    ]
    assert [each.partition(":")[0] for each in trust(document(new), document(old))] == ["LOW narrow-permissions"]


@pytest.mark.parametrize(
    ("principal", "condition", "risk"),
    [
        ({"Service": "ec2.amazonaws.com"}, {}, "LOW"),
        ({"AWS": "arn:aws:iam::111122223333:role/ci"}, {}, "MEDIUM"),
        ({"Federated": PROVIDER}, {"StringEquals": {SUBJECT: "repo:shop/web:environment:prod"}}, "MEDIUM"),
        ({"Federated": PROVIDER}, {}, "HIGH"),
        ({"Federated": PROVIDER}, {"StringLike": {SUBJECT: "repo:*"}}, "HIGH"),
        ({"AWS": ["arn:aws:iam::111122223333:role/ci", "*"]}, {}, "HIGH"),
        ({"AWS": "*"}, {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}, "HIGH"),
        ("*", {}, "HIGH"),
    ],
)
def test_a_new_role_is_as_risky_as_those_who_may_assume_it(principal: Any, condition: Any, risk: str) -> None:  # noqa: ANN401
    more = {"Condition": condition} if condition else {}
    found = trust(None, document({"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal, **more}))
    assert [each.partition(":")[0] for each in found] == [f"{risk} widen-trust"]


def test_a_trust_policy_that_is_not_known_is_reported() -> None:
    assert trust(document(TRUST), UNKNOWN) == [
        "HIGH widen-trust: IAM role deploy may be assumed more widely: the trust policy is known only after the update"
    ]


def test_an_identity_provider_and_its_further_audiences_are_reported() -> None:
    type_, head = "aws:iam/openIdConnectProvider:OpenIdConnectProvider", "widen-trust: OpenID Connect provider gitlab"
    inputs = {"url": "https://gitlab.com", "clientIdLists": ["sts.amazonaws.com"]}
    assert said(find(change(step(type_, "gitlab", None, inputs)))) == [
        f"LOW {head} IAM accepts identities of it: url https://gitlab.com"
    ]
    more = inputs | {"clientIdLists": ["sts.amazonaws.com", "everyone"]}
    assert said(find(change(step(type_, "gitlab", inputs, more)))) == [
        f"HIGH {head} IAM accepts other identities of it: clientIdLists everyone"
    ]
