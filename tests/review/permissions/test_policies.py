"""What roles may do, who may assume them, and whom resources let in, after a change and not before."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from multiarch.observed.resources.paths import SECRET, UNKNOWN
from multiarch.review.model import Operation
from tests.review.permissions.steps import (
    ATTACHMENT,
    INLINE,
    POLICY,
    ROLE,
    TRUST,
    allow,
    deny,
    document,
    find,
    role,
    step,
    urn,
)

QUEUE_ARN = "arn:aws:sqs:eu-west-1:111122223333:orders"
MORE = "HIGH widen-iam: IAM role reports may do: "
PROVIDER = "arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"
SUBJECT = "token.actions.githubusercontent.com:sub"
KEY, QUEUE, QUEUE_POLICY = "aws:kms/key:Key", "aws:sqs/queue:Queue", "aws:sqs/queuePolicy:QueuePolicy"
BUCKET, BUCKET_POLICY = "aws:s3/bucket:Bucket", "aws:s3/bucketPolicy:BucketPolicy"
ROOT = {"AWS": "arn:aws:iam::111122223333:root"}
EVENTS = {"Service": "events.amazonaws.com"}


def inline(old: object, new: object) -> list[str]:
    """What is found when the inline policy of a role changes."""
    before, after = ({"role": "reports-1a2b", "name": "send", "policy": each} for each in (old, new))
    return find(role("reports"), step(INLINE, "send", before, after))


def attach(arn: str | None, name: str = "a") -> Any:  # noqa: ANN401
    return step(ATTACHMENT, name, None, {"role": "reports-1a2b", "policyArn": arn})


def test_actions_more_are_named_with_their_resource() -> None:
    old, new = allow("sqs:SendMessage", QUEUE_ARN), allow(["sqs:*", "sqs:SendMessage", "s3:GetObject"], QUEUE_ARN)
    assert inline(document(old), document(new)) == [f"{MORE}sqs:*, s3:GetObject on {QUEUE_ARN}"]


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
        (document(allow(["s3:A", "s3:B"], "x")), document(allow("s3:B", "x"), allow("s3:A", "x"))),
        (
            document({"Effect": "Allow", "NotAction": ["b", "a"]}),
            document({"Effect": "Allow", "NotAction": ["a", "b"]}),
        ),
        (document(allow("a:?", "[x]")), document(allow("a:?", ["[x]"]))),
    ],
    ids=["another spelling", "covered by a wildcard", "one statement", "split", "negated", "characters of fnmatch"],
)
def test_what_was_allowed_already_is_not_reported(old: str, new: str) -> None:
    assert inline(old, new) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("s3:Get?", "s3:Get*"), ("s3:[ab]", "s3:a"), ("s3:Get*", "s3:*"), ("s3:GetObject", "s3:?etObject")],
)
def test_a_wider_pattern_is_reported(old: str, new: str) -> None:
    assert inline(document(allow(old)), document(allow(new)))[0] == f"{MORE}{new} on every resource"


def test_a_condition_that_changes_is_shown_with_the_one_before() -> None:
    def checked(account: str) -> str:
        return document(allow("s3:Get", "a", Condition={"StringEquals": {"aws:SourceAccount": account}}))

    one, two = ("aws:SourceAccount StringEquals 1", "aws:SourceAccount StringEquals 2")
    assert inline(checked("1"), checked("2")) == [f"{MORE}s3:Get on a if {two}; before only if {one}"]
    assert inline(checked("1"), document(allow("s3:Get", "a"))) == [f"{MORE}s3:Get on a; before only if {one}"]
    assert inline(document(allow("s3:Get", "a")), checked("1")) == [
        f"LOW narrow-permissions: IAM role reports may no longer do: s3:Get on a; now only if {one}"
    ]


def test_a_denial_that_goes_is_reported_and_one_that_comes_is_no_widening() -> None:
    with_denial, without = document(allow("s3:*"), deny("s3:Delete*")), document(allow("s3:*"))
    assert inline(with_denial, without) == [f"{MORE}no longer denied: s3:Delete* on every resource"]
    assert inline(without, with_denial) == [
        "LOW narrow-permissions: IAM role reports may no longer do: now denied: s3:Delete* on every resource"
    ]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (UNKNOWN, "a policy that is known only after the update"),
        ("{", "a policy that is not an object"),
        ("[" * 100_000, "a policy that is not an object"),
        (f'{{"Id": "{"x" * 200_000}"}}', "a policy that is not an object"),
        (document({"Effect": "Allow", "Resource": "*"}), "a statement with no Effect, no Action or too many values: {"),
        (document(allow("s3:X", UNKNOWN)), "a statement with a value that is known only after the update: {"),
        (document(allow("s3:X", Actoin="s3:Y")), "a statement with the unknown element Actoin: {"),
        (document(allow("s3:X", Condition=["x"])), "a statement with a Condition that is not an object: {"),
        (document(allow("s3:X", Condition={"A": {"k": SECRET}})), "a statement with a value that is a secret: {"),
        (
            document(allow([f"s3:{n}" for n in range(200)], [f"arn:{n}" for n in range(200)])),
            "a statement with no Effect, no Action or too many values: {",
        ),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_reason(new: object, reason: str) -> None:
    assert inline(document(allow("s3:GetObject")), new)[0].startswith(f"{MORE}{reason}")


def test_a_statement_that_could_not_be_read_before_either_is_not_reported_again() -> None:
    strange = allow("s3:X", Actoin="s3:Y")
    assert inline(document(strange, allow("a:B")), document(allow("a:B"), strange)) == []


@pytest.mark.exhaustive
def test_documents_that_are_hard_to_compare_are_reported() -> None:
    thousands = [allow(f"s3:Get{number}", f"arn:aws:s3:::{number}") for number in range(1_001)]
    assert inline(document(*thousands), document(*thousands[::-1])) == []
    assert inline(document(*thousands), document(*thousands, allow("s3:Put"))) == [f"{MORE}s3:Put on every resource"]
    others = [allow(f"sqs:Get{number}") for number in range(1_001)]
    assert inline(document(*thousands), document(*others)) == [f"{MORE}too many permissions to be compared; read them"]


def test_a_role_that_is_replaced_keeps_its_policies() -> None:
    before = {"name": "reports-1a2b", "assumeRolePolicy": document(TRUST)}
    after = {"assumeRolePolicy": document(TRUST)}
    replaced = step(ROLE, "reports", before, after, operation=Operation.REPLACE)
    old, new = ({"role": each, "policy": document(allow("s3:Get*"))} for each in ("reports-1a2b", UNKNOWN))
    policy = step(INLINE, "send", old, new, operation=Operation.REPLACE, depends={"role": urn(ROLE, "reports")})
    assert find(replaced, policy) == []


def test_a_new_role_is_less_alarming_unless_it_may_do_much() -> None:
    new = step(ROLE, "web", None, {})
    broad = ["sqs:*", "s3:**", "*:*", "iam:PassRole", "iam:*Role", "iam:CreatePolicyVersion"]
    broad += [f"iam:{verb}{kind}Policy" for verb in ("Attach", "Put") for kind in ("Role", "User", "Group")]
    broad += ["iam:SetDefaultPolicyVersion", "iam:CreateAccessKey", "iam:UpdateAssumeRolePolicy", "sts:AssumeRole"]
    for action, risk in (("sqs:SendMessage", "MEDIUM"), *((each, "HIGH") for each in broad)):
        given = {"role": UNKNOWN, "policy": document(allow(action))}
        found = find(new, step(INLINE, "p", None, given, depends={"role": urn(ROLE, "web")}))
        assert found == [f"{risk} widen-iam: IAM role web may do: {action} on every resource"]
    managed = ("AdministratorAccess", "PowerUserAccess", "AmazonS3FullAccess", "AmazonEC2FullAccessV2")
    for name, risk in (("ReadOnlyAccess", "MEDIUM"), *((each, "HIGH") for each in managed)):
        given = {"role": UNKNOWN, "policyArn": f"arn:aws:iam::aws:policy/{name}"}
        assert find(new, step(ATTACHMENT, "a", None, given, depends={"role": urn(ROLE, "web")}))[0].startswith(risk)


def test_a_managed_policy_that_is_attached_is_named() -> None:
    read_only, all_ = (f"arn:aws:iam::aws:policy/{name}" for name in ("ReadOnlyAccess", "AdministratorAccess"))
    assert find(role("reports"), attach(read_only)) == [f"{MORE}AWS managed policy ReadOnlyAccess"]
    assert find(role("reports"), attach(all_)) == [f"{MORE}every action on every resource"]
    exclusive = "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive"
    alone = step(exclusive, "a", None, {"roleName": "reports-1a2b", "policyArns": [all_]})
    assert find(role("reports"), alone) == ["HIGH widen-iam: IAM role reports may do: every action on every resource"]
    assert find(role("reports"), attach(UNKNOWN)) == [f"{MORE}an IAM policy that is known only after the update"]
    given = {"managedPolicyArns": [UNKNOWN]}
    assert find(step(ROLE, "my role", {"managedPolicyArns": []}, given)) == [
        "HIGH widen-iam: IAM role my role may do: an IAM policy that is known only after the update"
    ]


def test_a_policy_of_the_stack_is_reported_where_it_changes_and_where_it_is_attached() -> None:
    arn = "arn:aws:iam::111122223333:policy/queues"
    old, new = ({"policy": document(allow(each))} for each in ("sqs:Get*", "sqs:*"))
    policy = step(POLICY, "queues", old, new, outputs={"arn": arn})
    kept = step(ATTACHMENT, "a", *[{"role": "reports-1a2b", "policyArn": arn}] * 2)
    itself = "HIGH widen-iam: IAM policy queues may do: sqs:* on every resource"
    assert find(role("reports"), policy, kept) == [itself]
    assert find(role("reports"), policy, attach(arn))[:2] == [itself, f"{MORE}IAM policy queues"]


def test_a_foreign_policy_beside_one_of_the_stack_is_not_taken_for_it() -> None:
    own, all_ = "arn:aws:iam::111122223333:policy/queues", "arn:aws:iam::aws:policy/AdministratorAccess"
    of_stack = {"managedPolicyArns": urn(POLICY, "queues")}
    old, new = {"managedPolicyArns": [own]}, {"managedPolicyArns": [own, all_]}
    found = find(step(ROLE, "my role", old, new, depends=of_stack))
    assert "HIGH widen-iam: IAM role my role may do: every action on every resource" in found


def test_a_policy_that_may_deny_something_is_missed_when_it_is_detached() -> None:
    def detach(arn: str) -> list[str]:
        return find(role("reports"), step(ATTACHMENT, "a", {"role": "reports-1a2b", "policyArn": arn}, None))

    denied = "no longer denied: what IAM policy guard denies, if anything"
    assert detach("arn:aws:iam::111122223333:policy/guard")[0] == f"{MORE}{denied}"
    assert detach("arn:aws:iam::aws:policy/ReadOnlyAccess") == [
        "LOW narrow-permissions: IAM role reports may no longer do: AWS managed policy ReadOnlyAccess"
    ]


def test_a_permissions_boundary_that_goes_or_changes_is_reported() -> None:
    bound, other = ({"permissionsBoundary": f"arn:aws:iam::111122223333:policy/{each}"} for each in ("a", "b"))
    limit = "no longer denied: what the permissions boundary arn:aws:iam::111122223333:policy/a does not allow"
    assert find(step(ROLE, "reports", bound, {})) == [f"{MORE}{limit}"]
    assert find(step(ROLE, "reports", bound, other))[0] == f"{MORE}{limit}"
    assert find(step(ROLE, "reports", {}, bound))[0].startswith("LOW narrow-permissions")


def test_policies_that_a_role_has_in_itself_count() -> None:
    given = {
        "inlinePolicies": [{"name": "send", "policy": document(allow("sqs:SendMessage"))}],
        "managedPolicyArns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
    }
    assert find(step(ROLE, "reports", {}, given)) == [
        f"{MORE}sqs:SendMessage on every resource; and 1 more",
        "AWS managed policy ReadOnlyAccess",
    ]


def test_what_was_changed_outside_of_pulumi_is_reported_as_such() -> None:
    old, new = ({"role": "reports-1a2b", "policy": document(allow(each))} for each in ("sqs:Get*", "sqs:*"))
    drift = step(INLINE, "send", old, new, operation=Operation.DRIFT)
    outside = "HIGH widen-iam: IAM role reports changed outside of Pulumi: may do: sqs:* on every resource"
    assert find(role("reports"), drift, step(INLINE, "send", new, old)) == [
        outside,
        "LOW narrow-permissions: IAM role reports may no longer do: sqs:* on every resource",
    ]
    assert find(role("reports"), drift, step(INLINE, "send", new, new)) == [outside]


def test_a_role_that_is_deleted_with_its_policies_gains_nothing() -> None:
    old = {"role": "reports-1a2b", "policy": document(allow("s3:*"), deny("s3:Delete*"))}
    gone = step(ROLE, "reports", {"name": "reports-1a2b"}, None)
    assert find(gone, step(INLINE, "send", old, None)) == []
    assert find(role("reports"), step(INLINE, "send", old, None))[0] == (
        f"{MORE}no longer denied: s3:Delete* on every resource"
    )


def trust(old: object, new: object) -> list[str]:
    before = None if old is None else {"assumeRolePolicy": old}
    return find(step(ROLE, "deploy", before, {"assumeRolePolicy": new}))


def federated(**condition: Any) -> dict[str, Any]:
    more = {"Condition": condition} if condition else {}
    return {"Effect": "Allow", "Principal": {"Federated": PROVIDER}, "Action": "sts:AssumeRoleWithWebIdentity", **more}


def test_a_principal_more_is_named() -> None:
    more = TRUST | {"Principal": {"Service": "ec2.amazonaws.com", "AWS": "arn:aws:iam::444455556666:root"}}
    head = "HIGH widen-trust: IAM role deploy lets in: "
    assert trust(document(TRUST), document(more)) == [f"{head}sts:AssumeRole for account 444455556666"]
    number = TRUST | {"Principal": {"Service": "ec2.amazonaws.com", "AWS": "444455556666"}}
    assert trust(document(more), document(number)) == []
    assert trust(document(TRUST), UNKNOWN) == [f"{head}a policy that is known only after the update"]


@pytest.mark.parametrize(
    ("principal", "condition", "risk"),
    [
        ({"Service": "ec2.amazonaws.com"}, {}, "LOW"),
        ({"AWS": "arn:aws:iam::111122223333:role/ci"}, {}, "MEDIUM"),
        ({"Federated": PROVIDER}, {"StringEquals": {SUBJECT: "repo:shop/web:environment:prod"}}, "MEDIUM"),
        ({"Federated": PROVIDER}, {}, "HIGH"),
        ({"Federated": PROVIDER}, {"StringLike": {SUBJECT: "repo:*"}}, "HIGH"),
        ({"AWS": "*"}, {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/*"}}, "MEDIUM"),
        ({"AWS": "*"}, {"StringLike": {"aws:PrincipalArn": "*:role/ci"}}, "HIGH"),
        ({"AWS": ["arn:aws:iam::111122223333:role/ci", "*"]}, {}, "HIGH"),
        ("*", {}, "HIGH"),
    ],
)
def test_a_new_role_is_as_risky_as_those_who_may_assume_it(principal: Any, condition: Any, risk: str) -> None:  # noqa: ANN401
    more = {"Condition": condition} if condition else {}
    found = trust(None, document({"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal, **more}))
    assert [each.partition(":")[0] for each in found] == [f"{risk} widen-trust"]


def test_an_identity_provider_and_its_further_audiences_are_reported() -> None:
    type_, head = "aws:iam/openIdConnectProvider:OpenIdConnectProvider", "IAM OpenID Connect provider gitlab"
    inputs = {"clientIdLists": ["sts.amazonaws.com"]}
    assert find(step(type_, "gitlab", None, inputs | {"tags": {"a": "b"}})) == [
        f"LOW widen-trust: {head} lets in: identities by clientIdLists sts.amazonaws.com"
    ]
    assert find(step(type_, "gitlab", inputs, {"clientIdLists": ["sts.amazonaws.com", "everyone"]})) == [
        f"HIGH widen-trust: {head} lets in: identities by clientIdLists everyone"
    ]


def lets(action: str, principal: Any, effect: str = "Allow", **condition: Any) -> dict[str, Any]:  # noqa: ANN401
    more = {"Condition": condition} if condition else {}
    return {"Effect": effect, "Action": action, "Resource": "*", "Principal": principal, **more}


def test_a_resource_policy_must_not_lose_its_denials() -> None:
    queue = step(QUEUE, "orders", {"name": "orders"}, {"name": "orders"}, outputs={"url": "https://sqs/orders"})
    plain = lets("sqs:*", "*", "Deny", Bool={"aws:SecureTransport": "false"})
    inputs = {"queueUrl": "https://sqs/orders", "policy": document(lets("sqs:SendMessage", EVENTS), plain)}
    gone = step(QUEUE_POLICY, "old", inputs, None)
    head, end = "HIGH widen-resource-policy: SQS queue orders lets in: ", "on every resource for"
    wider = inputs | {"policy": document(lets("sqs:*", EVENTS), plain)}
    assert find(queue, step(QUEUE_POLICY, "old", inputs, wider)) == [f"{head}sqs:* {end} service events.amazonaws.com"]
    without = inputs | {"policy": document(lets("sqs:SendMessage", EVENTS))}
    assert find(queue, step(QUEUE_POLICY, "old", inputs, without)) == [
        f"{head}no longer denied: sqs:* {end} everyone if aws:SecureTransport Bool false"
    ]
    assert find(step(QUEUE, "orders", {"name": "orders"}, None, outputs={"url": "https://sqs/orders"}), gone) == []


def test_a_denial_that_goes_with_a_component_counts_for_an_owner_that_stays() -> None:
    inputs = {"role": "existing", "policy": document(deny("s3:*"))}
    component = step("multiarch-eks:components:Karpenter", "k", {}, None)
    gone = replace(step(INLINE, "p", inputs, None, depends={"policy": urn(ROLE, "reports")}), parent=component.urn)
    assert any("no longer denied: s3:*" in each for each in find(component, gone))


def test_in_an_event_log_what_goes_with_its_component_goes_with_its_owner() -> None:
    plain = lets("sqs:*", "*", "Deny", Bool={"aws:SecureTransport": "false"})
    inputs = {"queueUrl": "https://sqs/of-an-event-log", "policy": document(lets("sqs:*", EVENTS), plain)}
    gone, component = step(QUEUE_POLICY, "p", inputs, None), step("multiarch-eks:components:Karpenter", "k", {}, None)
    assert find(component, replace(gone, parent=component.urn)) == []
    assert "no longer denied" in find(gone)[0]


def test_a_new_policy_is_as_risky_as_those_whom_it_lets_in() -> None:
    bucket, of = step(BUCKET, "reports", None, {}), {"bucket": urn(BUCKET, "reports")}
    for statement, risk in (
        (lets("s3:GetObject", ROOT), "LOW"),
        (lets("s3:GetObject", "*", StringEquals={"aws:PrincipalOrgID": "o-1"}), "LOW"),
        (lets("s3:GetObject", "*"), "HIGH"),
        (lets("s3:GetObject", "*", Bool={"aws:SecureTransport": "true"}), "HIGH"),
        ({"Effect": "Allow"}, "HIGH"),
    ):
        policy = step(BUCKET_POLICY, "reports", None, {"bucket": UNKNOWN, "policy": document(statement)}, depends=of)
        assert find(bucket, policy)[0].startswith(f"{risk} widen-resource-policy: S3 bucket reports lets in: ")


def test_a_policy_that_leaves_the_program_is_reported() -> None:
    text = "what AWS allows without a policy of the program: it keeps the last one, or sets a default"
    inputs = {"vpcEndpointId": "vpce-1", "policy": document(lets("s3:GetObject", "*"))}
    endpoint = step("aws:ec2/vpcEndpointPolicy:VpcEndpointPolicy", "s3", inputs, None)
    assert find(endpoint)[0].endswith(f"lets in: no longer denied: {text}")
    key = step(KEY, "key", {"policy": document(lets("kms:*", ROOT))}, {})
    assert find(key)[0] == f"HIGH widen-resource-policy: KMS key key lets in: no longer denied: {text}"


def test_policies_of_types_that_are_not_known_are_compared_and_those_of_other_languages_are_not() -> None:
    old, new = ({"resourcePolicy": document(lets(each, ROOT))} for each in ("x:Get", "x:*"))
    assert find(step("aws:future/thing:Thing", "t", old, new)) == [
        "HIGH widen-resource-policy: thing t lets in: x:* on every resource for account 111122223333"
    ]
    rules = [{"policy": f'{{"rules": [{number}]}}'} for number in range(2)]
    assert find(step("aws:ecr/lifecyclePolicy:LifecyclePolicy", "t", rules[0], {"policy": UNKNOWN})) == []
    assert find(step("aws:future/thing:Thing", "t", *rules)) == []
    assert find(step(BUCKET_POLICY, "reports", *[{"bucket": "reports", "policy": "{"}] * 2)) == []
