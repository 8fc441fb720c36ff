"""What roles, users, groups and policies may do after a change and not before."""

from __future__ import annotations

import json

import pytest

from multiarch.review.model import SECRET, UNKNOWN, Operation
from multiarch.review.permissions.iam import find
from tests.review.permissions.steps import (
    ATTACHMENT,
    INLINE,
    POLICY,
    ROLE,
    allow,
    change,
    deny,
    document,
    role,
    said,
    step,
    urn,
)

QUEUE = "arn:aws:sqs:eu-west-1:111122223333:orders"


def inline(old: object, new: object, name: str = "send") -> list[str]:
    """What is found when the inline policy of a role changes."""
    before, after = ({"role": "reports-1a2b", "name": name, "policy": each} for each in (old, new))
    return said(find(change(role("reports"), step(INLINE, name, before, after))))


def test_an_action_more_is_named_with_its_resource() -> None:
    old, new = allow("sqs:SendMessage", QUEUE), allow(["sqs:ReceiveMessage", "sqs:SendMessage"], QUEUE)
    assert inline(document(old), document(new)) == [
        f"HIGH widen-iam: IAM role reports may do more: sqs:ReceiveMessage on {QUEUE}"
    ]


def test_a_resource_more_and_a_looser_condition_are_named() -> None:
    checked = {"Condition": {"StringEquals": {"aws:SourceAccount": "111122223333"}}}
    old = document(allow("sqs:SendMessage", QUEUE), allow("s3:GetObject", "a", **checked))
    new = document(allow("sqs:SendMessage", [QUEUE, "*"]), allow("s3:GetObject", "a"))
    assert inline(old, new) == [
        "HIGH widen-iam: IAM role reports may do more: sqs:SendMessage on every resource; and 1 more",
        "s3:GetObject on a; before only if aws:SourceAccount StringEquals 111122223333",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            document(allow(["s3:GetObject"], "a"), allow("sqs:*", "*")),
            json.dumps(
                {
                    "Statement": [
                        {"Resource": ["*"], "Effect": "Allow", "Action": "sqs:*", "Sid": "Queues"},
                        {"Resource": "a", "Action": "s3:getobject", "Effect": "Allow"},
                    ],
                    "Version": "2012-10-17",
                }
            ),
        ),
        (document(allow("s3:*")), document(allow("s3:*"), allow("s3:GetObject", "arn:aws:s3:::a/*"))),
        (document(allow("s3:*")), json.dumps({"Version": "2012-10-17", "Statement": allow("s3:*")})),
        (document(allow("*")), document(allow("*"), allow("${*}", "x"))),
    ],
    ids=["another spelling", "covered by a wildcard", "one statement without a list", "covered by everything"],
)
def test_what_was_allowed_already_is_not_reported(old: str, new: str) -> None:
    assert inline(old, new) == []


def test_a_denial_that_goes_is_reported_and_one_that_comes_is_not_a_widening() -> None:
    with_denial, without = document(allow("s3:*"), deny("s3:Delete*")), document(allow("s3:*"))
    assert inline(with_denial, without) == [
        "HIGH widen-iam: IAM role reports may do more: no longer denied: s3:Delete* on every resource"
    ]
    assert inline(without, with_denial) == [
        "LOW narrow-permissions: IAM role reports may no longer do: now denied: s3:Delete* on every resource"
    ]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (UNKNOWN, "is known only after the update"),
        (SECRET, "is a secret"),
        ("{", "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ('{"Statement": 1}', "has a Statement that is not a list"),
        ('{"Statement": [1]}', "has a statement that is not an object"),
        ('{"Version": "1", "Version": "2"}', "has a key twice in one object"),
        ("[" * 100_000, "is not valid JSON"),
        (f'{{"Id": "{"x" * 200_000}"}}', "is longer than 200,000 characters"),
        (7, "is not a JSON object"),
    ],
)
def test_a_document_that_cannot_be_read_is_reported_with_its_reason(new: object, reason: str) -> None:
    assert inline(document(allow("s3:GetObject")), new)[0] == (
        f"HIGH widen-iam: IAM role reports may do more: inline policy send {reason}"
    )


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ({"Effect": "Allow", "Resource": "*"}, "has neither Action nor NotAction"),
        ({"Effect": "Maybe", "Action": "s3:X", "Resource": "*"}, "has an Effect that is neither Allow nor Deny"),
        (allow([]), "has an empty Action"),
        (allow("s3:X", [1]), "has a value that is not a text"),
        (allow("s3:X", UNKNOWN), "has a value that is known only after the update"),
        (allow("s3:X", Actoin="s3:Y"), "has the element Actoin, which policies don't have"),
        (allow("s3:X", NotAction="s3:Y"), "has both Action and NotAction"),
        (allow("s3:X", Condition=["x"]), "has a Condition that is not an object of objects"),
        (allow("s3:X", Condition={"StringEquals": {"k": SECRET}}), "has a value that is a secret"),
    ],
)
def test_a_statement_that_cannot_be_read_is_reported_and_the_others_are_compared(
    statement: dict[str, object], reason: str
) -> None:
    found = inline(document(allow("s3:GetObject")), document(allow("s3:GetObject"), statement, allow("sqs:Get*")))
    assert found[0].startswith(f"HIGH widen-iam: IAM role reports may do more: a statement {reason}: {{")
    assert found[1] == "sqs:Get* on every resource"


def test_a_statement_that_could_not_be_read_before_either_is_not_reported_again() -> None:
    strange = allow("s3:X", Actoin="s3:Y")
    assert inline(document(strange, allow("a:B")), document(allow("a:B"), strange)) == []


def test_permissions_may_move_between_the_policies_of_a_role() -> None:
    steps = [
        role("reports"),
        step(INLINE, "one", {"role": "reports-1a2b", "policy": document(allow("s3:Get*"))}, None),
        step(INLINE, "two", None, {"role": "reports-1a2b", "policy": document(allow("s3:GetObject"))}),
    ]
    assert said(find(change(*steps))) == [
        "LOW narrow-permissions: IAM role reports may no longer do: s3:Get* on every resource"
    ]


def test_permissions_that_move_to_another_role_are_reported_for_it() -> None:
    steps = [
        role("reports"),
        role("web"),
        step(
            INLINE,
            "send",
            {"role": "reports-1a2b", "policy": document(allow("s3:GetObject"))},
            {"role": "web-1a2b", "policy": document(allow("s3:GetObject"))},
        ),
    ]
    assert [each for each in said(find(change(*steps))) if each.startswith("HIGH")] == [
        "HIGH widen-iam: IAM role web may do more: s3:GetObject on every resource"
    ]


def test_a_role_that_is_replaced_keeps_its_policies() -> None:
    before = {"name": "reports-1a2b", "assumeRolePolicy": "{}"}
    replaced = step(ROLE, "reports", before, {"assumeRolePolicy": "{}"}, operation=Operation.REPLACE)
    old, new = ({"role": each, "policy": document(allow("s3:Get*"))} for each in ("reports-1a2b", UNKNOWN))
    policy = step(INLINE, "send", old, new, operation=Operation.REPLACE, depends={"role": urn(ROLE, "reports")})
    assert said(find(change(replaced, policy))) == []


def test_a_policy_for_a_role_that_is_not_known_is_reported_with_all_that_it_allows() -> None:
    old, new = ({"role": each, "policy": document(allow("s3:Get*"))} for each in ("reports-1a2b", UNKNOWN))
    policy = step(INLINE, "send", old, new, operation=Operation.REPLACE)
    assert "MEDIUM widen-iam: IAM role of IAM role policy send may do: s3:Get* on every resource" in said(
        find(change(role("reports"), policy))
    )


def test_a_new_role_is_less_alarming_unless_it_may_do_much() -> None:
    new = step(ROLE, "web", None, {"assumeRolePolicy": "{}"})

    def may(action: str) -> list[str]:
        policy = step(
            INLINE, "p", None, {"role": UNKNOWN, "policy": document(allow(action))}, depends={"role": urn(ROLE, "web")}
        )
        return said(find(change(new, policy)))

    assert may("sqs:SendMessage") == ["MEDIUM widen-iam: IAM role web may do: sqs:SendMessage on every resource"]
    assert may("sqs:*") == ["HIGH widen-iam: IAM role web may do: sqs:* on every resource"]
    assert may("iam:PassRole") == ["HIGH widen-iam: IAM role web may do: iam:PassRole on every resource"]


def attached(arn: str) -> dict[str, str]:
    return {"role": "reports-1a2b", "policyArn": arn}


def test_a_policy_of_aws_that_is_attached_is_named() -> None:
    steps = [step(ATTACHMENT, "a", None, attached("arn:aws:iam::aws:policy/ReadOnlyAccess"))]
    expected = ["HIGH widen-iam: IAM role reports may do more: AWS managed policy ReadOnlyAccess"]
    assert said(find(change(role("reports"), *steps))) == expected
    everything = step(ATTACHMENT, "b", *[attached("arn:aws:iam::aws:policy/AdministratorAccess")] * 2)
    assert said(find(change(role("reports"), everything, *steps))) == []


def test_the_administrators_policy_is_known_to_allow_everything() -> None:
    step_ = step(ATTACHMENT, "b", None, attached("arn:aws:iam::aws:policy/AdministratorAccess"))
    assert said(find(change(role("reports"), step_))) == [
        "HIGH widen-iam: IAM role reports may do more: every action on every resource"
    ]


def test_a_policy_of_the_stack_is_reported_where_it_changes_and_its_content_where_it_is_attached() -> None:
    arn = "arn:aws:iam::111122223333:policy/queues"
    old, new = ({"policy": document(allow(each))} for each in ("sqs:Get*", "sqs:*"))
    policy = step(POLICY, "queues", old, new, outputs={"arn": arn})
    kept = step(ATTACHMENT, "a", attached(arn), attached(arn))
    assert said(find(change(role("reports"), policy, kept))) == [
        "HIGH widen-iam: IAM policy queues allows more: sqs:* on every resource"
    ]
    assert said(find(change(role("reports"), policy, step(ATTACHMENT, "a", None, attached(arn))))) == [
        "HIGH widen-iam: IAM policy queues allows more: sqs:* on every resource",
        "HIGH widen-iam: IAM role reports may do more: sqs:* on every resource",
    ]


def test_a_policy_with_denials_that_is_detached_is_reported() -> None:
    steps = [step(ATTACHMENT, "a", attached("arn:aws:iam::111122223333:policy/guard"), None)]
    assert said(find(change(role("reports"), *steps)))[0] == (
        "HIGH widen-iam: IAM role reports may do more: policy arn:aws:iam::111122223333:policy/guard is no longer "
        "attached; what it denies, if anything, is no longer denied"
    )
    harmless = [step(ATTACHMENT, "a", attached("arn:aws:iam::aws:policy/ReadOnlyAccess"), None)]
    assert said(find(change(role("reports"), *harmless))) == [
        "LOW narrow-permissions: IAM role reports may no longer do: AWS managed policy ReadOnlyAccess"
    ]


def test_a_policy_that_is_not_known_is_not_taken_for_a_harmless_one() -> None:
    unknown = step(ATTACHMENT, "a", None, attached(UNKNOWN))
    assert said(find(change(role("reports"), unknown))) == [
        "HIGH widen-iam: IAM role reports may do more: a managed policy that is known only after the update"
    ]
    arn = "arn:aws:iam::111122223333:policy/queues"
    hidden = step(POLICY, "queues", {"policy": "{"}, {"policy": "{"}, outputs={"arn": arn})
    assert said(find(change(role("reports"), hidden, step(ATTACHMENT, "a", None, attached(arn))))) == [
        "HIGH widen-iam: IAM role reports may do more: IAM policy queues"
    ]


def test_a_permissions_boundary_that_goes_or_changes_is_reported() -> None:
    inputs = {"name": "reports-1a2b", "assumeRolePolicy": "{}"}
    boundary, more = "permissionsBoundary", "HIGH widen-iam: IAM role reports may do more"
    bound = inputs | {boundary: "arn:aws:iam::111122223333:policy/bound"}
    other = inputs | {boundary: "arn:aws:iam::111122223333:policy/other"}
    assert said(find(change(step(ROLE, "reports", bound, inputs)))) == [
        f"{more}: the permissions boundary policy arn:aws:iam::111122223333:policy/bound is removed"
    ]
    assert said(find(change(step(ROLE, "reports", bound, other)))) == [
        f"{more}: the permissions boundary is policy {other[boundary]}, and was policy {bound[boundary]}"
    ]
    assert said(find(change(step(ROLE, "reports", inputs, bound)))) == []


def test_policies_that_a_role_has_in_itself_count() -> None:
    inputs = {"name": "reports-1a2b", "assumeRolePolicy": "{}"}
    more = inputs | {
        "inlinePolicies": [{"name": "send", "policy": document(allow("sqs:SendMessage"))}],
        "managedPolicyArns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
    }
    assert said(find(change(step(ROLE, "reports", inputs, more)))) == [
        "HIGH widen-iam: IAM role reports may do more: AWS managed policy ReadOnlyAccess; and 1 more",
        "sqs:SendMessage on every resource",
    ]


def test_members_of_a_group_are_reported() -> None:
    type_ = "aws:iam/userGroupMembership:UserGroupMembership"
    old, new = ({"user": "ada", "groups": each} for each in (["read"], ["read", "admins"]))
    assert said(find(change(step(type_, "ada", old, new)))) == [
        "HIGH widen-iam: IAM user group membership ada has more members: user ada in group admins"
    ]


def test_what_was_changed_outside_of_pulumi_is_reported_as_such() -> None:
    old, new = ({"role": "reports-1a2b", "policy": document(allow(each))} for each in ("sqs:Get*", "sqs:*"))
    drift = step(INLINE, "send", old, new, operation=Operation.DRIFT)
    back = step(INLINE, "send", new, old)
    assert said(find(change(role("reports"), drift, back))) == [
        "LOW narrow-permissions: IAM role reports may no longer do: sqs:* on every resource",
        "HIGH widen-iam: IAM role reports changed outside of Pulumi: may do more: sqs:* on every resource",
    ]
    assert said(find(change(role("reports"), drift, step(INLINE, "send", new, new)))) == [
        "HIGH widen-iam: IAM role reports changed outside of Pulumi: may do more: sqs:* on every resource"
    ]


def test_a_role_that_is_deleted_with_its_policies_gains_nothing() -> None:
    old = {"role": "reports-1a2b", "policy": document(allow("s3:*"), deny("s3:Delete*"))}
    gone = step(ROLE, "reports", {"name": "reports-1a2b", "assumeRolePolicy": "{}"}, None)
    assert said(find(change(gone, step(INLINE, "send", old, None)))) == []
    # Only the policy goes: its denial goes too.
    assert said(find(change(role("reports"), step(INLINE, "send", old, None))))[0] == (
        "HIGH widen-iam: IAM role reports may do more: no longer denied: s3:Delete* on every resource"
    )


def test_documents_that_are_hard_to_compare_are_reported_and_take_bounded_time() -> None:
    hard = "*".join("ab" * 40)
    statements = [allow(f"s3:*{hard[index:]}*", f"*{hard[:index]}*") for index in range(40)]
    more = document(*(allow([f"s3:*{index}*{hard}" for index in range(10)], f"*{n}*") for n in range(40)))
    assert any("too many statements or wildcards" in each for each in inline(document(*statements), more))
    thousands = [allow(f"s3:Get{number}", f"arn:aws:s3:::{number}") for number in range(2_000)]
    assert inline(document(*thousands), document(*thousands[::-1])) == []
    assert inline(document(*thousands), document(*thousands, allow("s3:Put")))


def test_an_unknown_policy_is_reported_of_a_role_with_a_space_in_its_name() -> None:
    attached = {"managedPolicyArns": [UNKNOWN]}
    assert said(find(change(step(ROLE, "my role", {"managedPolicyArns": []}, attached)))) == [
        "HIGH widen-iam: IAM role my role may do more: a managed policy that is known only after the update"
    ]
