"""Whom the policies of keys, buckets and queues let in after a change and not before."""

from __future__ import annotations

from typing import Any

from multiarch.review.model import UNKNOWN, Operation
from multiarch.review.permissions.resource_policies import find
from tests.review.permissions.steps import change, document, said, step

KEY, QUEUE, QUEUE_POLICY = "aws:kms/key:Key", "aws:sqs/queue:Queue", "aws:sqs/queuePolicy:QueuePolicy"
ROOT = {"AWS": "arn:aws:iam::111122223333:root"}
EVENTS = {"Service": "events.amazonaws.com"}


def lets(action: str, principal: Any, effect: str = "Allow", **condition: Any) -> dict[str, Any]:  # noqa: ANN401
    more = {"Condition": condition} if condition else {}
    return {"Effect": effect, "Action": action, "Resource": "*", "Principal": principal, **more}


def test_a_key_for_another_account_is_reported() -> None:
    old = {"policy": document(lets("kms:*", ROOT))}
    new = {"policy": document(lets("kms:*", ROOT), lets("kms:Decrypt", {"AWS": "444455556666"}))}
    assert said(find(change(step(KEY, "key", old, new)))) == [
        "HIGH widen-resource-policy: KMS key key lets in more: kms:Decrypt on every resource for 444455556666"
    ]


def test_a_policy_may_move_to_another_resource_of_the_same_queue() -> None:
    queue = step(QUEUE, "orders", {"name": "orders"}, {"name": "orders"}, outputs={"url": "https://sqs/orders"})
    inputs = {"queueUrl": "https://sqs/orders", "policy": document(lets("sqs:SendMessage", EVENTS))}
    moved = [step(QUEUE_POLICY, "old", inputs, None), step(QUEUE_POLICY, "new", None, inputs)]
    assert said(find(change(queue, *moved))) == []
    wider = inputs | {"policy": document(lets("sqs:*", EVENTS))}
    assert said(find(change(queue, moved[0], step(QUEUE_POLICY, "new", None, wider)))) == [
        (
            "HIGH widen-resource-policy: SQS queue orders lets in more: "
            "sqs:* on every resource for service events.amazonaws.com"
        )
    ]


def test_the_denial_of_plain_http_is_missed() -> None:
    queue = step(QUEUE, "orders", {"name": "orders"}, {"name": "orders"}, outputs={"url": "https://sqs/orders"})
    plain = lets("sqs:*", "*", "Deny", Bool={"aws:SecureTransport": "false"})
    old, new = (
        {"queueUrl": "https://sqs/orders", "policy": document(*each)}
        for each in ([plain, lets("sqs:SendMessage", EVENTS)], [lets("sqs:SendMessage", EVENTS)])
    )
    assert said(find(change(queue, step(QUEUE_POLICY, "orders", old, new)))) == [
        (
            "HIGH widen-resource-policy: SQS queue orders lets in more: "
            "no longer denied: sqs:* on every resource for everyone if aws:SecureTransport Bool false"
        )
    ]
    gone = step(QUEUE, "orders", {"name": "orders"}, None, outputs={"url": "https://sqs/orders"})
    assert said(find(change(gone, step(QUEUE_POLICY, "orders", old, None)))) == []


def test_a_new_policy_is_as_risky_as_those_whom_it_lets_in() -> None:
    def risk(*statements: dict[str, Any]) -> str:
        inputs = {"bucket": "reports", "policy": document(*statements)}
        return said(find(change(step("aws:s3/bucketPolicy:BucketPolicy", "reports", None, inputs))))[0].split()[0]

    assert risk(lets("s3:GetObject", ROOT)) == "LOW"
    assert risk(lets("s3:GetObject", "*", StringEquals={"aws:PrincipalOrgID": "o-1"})) == "LOW"
    assert risk(lets("s3:GetObject", "*")) == "HIGH"
    assert risk(lets("s3:GetObject", "*", Bool={"aws:SecureTransport": "true"})) == "HIGH"
    assert risk(lets("s3:GetObject", ROOT, Actoin={})) == "LOW"
    assert risk({"Effect": "Allow"}) == "MEDIUM"


def test_a_policy_that_is_not_known_is_reported() -> None:
    old, new = ({"bucket": "reports", "policy": each} for each in (document(lets("s3:GetObject", ROOT)), UNKNOWN))
    assert said(find(change(step("aws:s3/bucketPolicy:BucketPolicy", "reports", old, new)))) == [
        "HIGH widen-resource-policy: S3 bucket reports lets in more: its policy is known only after the update"
    ]


def test_a_policy_that_leaves_the_program_is_reported() -> None:
    text = "its policy is taken out of the program; AWS keeps it, or sets its default, which may allow everything"
    inputs = {"vpcEndpointId": "vpce-1", "policy": document(lets("s3:GetObject", "*"))}
    endpoint = step("aws:ec2/vpcEndpointPolicy:VpcEndpointPolicy", "s3", inputs, None)
    assert f"HIGH widen-resource-policy: vpc endpoint vpce-1 lets in more: {text}" in said(find(change(endpoint)))
    key = step(KEY, "key", {"policy": document(lets("kms:*", ROOT))}, {})
    assert f"HIGH widen-resource-policy: KMS key key lets in more: {text}" in said(find(change(key)))


def test_permissions_of_functions_and_grants_of_keys_count() -> None:
    permission = {"function": "web", "action": "lambda:InvokeFunction", "principal": "s3.amazonaws.com"}
    bound = permission | {"sourceArn": "arn:aws:s3:::reports"}
    assert said(find(change(step("aws:lambda/permission:Permission", "s3", bound, permission)))) == [
        (
            "HIGH widen-resource-policy: function web lets in more: lambda:InvokeFunction "
            "for service s3.amazonaws.com; before only if aws:SourceArn ArnLike arn:aws:s3:::reports"
        )
    ]
    grant = {"keyId": "1", "granteePrincipal": "arn:aws:iam::111122223333:role/a", "operations": ["Decrypt"]}
    assert said(find(change(step("aws:kms/grant:Grant", "g", None, grant)))) == [
        "LOW widen-resource-policy: KMS key 1 lets in: kms:Decrypt for arn:aws:iam::111122223333:role/a"
    ]


def test_policies_of_types_that_are_not_known_are_compared_and_those_of_other_languages_are_not() -> None:
    old, new = ({"resourcePolicy": document(lets(each, ROOT))} for each in ("x:Get", "x:*"))
    assert said(find(change(step("aws:future/thing:Thing", "t", old, new)))) == [
        "HIGH widen-resource-policy: thing t lets in more: x:* on every resource for arn:aws:iam::111122223333:root"
    ]
    rules = [{"policy": f'{{"rules": [{number}]}}'} for number in range(2)]
    assert said(find(change(step("aws:ecr/lifecyclePolicy:LifecyclePolicy", "t", rules[0], {"policy": UNKNOWN})))) == []
    assert said(find(change(step("aws:future/thing:Thing", "t", *rules)))) == []


def test_a_policy_that_stays_is_not_read_again() -> None:
    inputs = {"bucket": "reports", "policy": "{"}
    stays = step("aws:s3/bucketPolicy:BucketPolicy", "reports", inputs, inputs, operation=Operation.SAME)
    assert said(find(change(stays, step(QUEUE, "orders", {}, {"name": "x"})))) == []
