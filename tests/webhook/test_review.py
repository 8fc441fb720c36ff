"""Reading a review and writing the answer: what is not a review, what is not a pod, and what is hostile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.admission import AdmissionMode
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import DecisionOutcome, DecisionReason
from multiarch.webhook.review import FailureReason, ReviewError, read_review
from tests.webhook.stand_ins import (
    AMD64_ONLY,
    UID,
    RecordingObserver,
    StandInImages,
    answer_at_once,
    pod,
    response_in,
    review_of,
)

REVIEW = json.loads(review_of(pod("a")))


def without(key: str) -> bytes:
    return json.dumps({name: value for name, value in REVIEW.items() if name != key}).encode()


NOT_REVIEWS: list[tuple[bytes, FailureReason, str]] = [
    (b"", FailureReason.NOT_JSON, "Not JSON: Input data was truncated."),
    (review_of(pod("a")) + b"{}", FailureReason.NOT_JSON, "Not JSON: "),
    (b"{}", FailureReason.NOT_A_REVIEW, "The request must be admission.k8s.io/v1 AdmissionReview, not ' '."),
    (without("request"), FailureReason.NOT_A_REVIEW, "The AdmissionReview has no request."),
    (
        json.dumps({**REVIEW, "apiVersion": "admission.k8s.io/v1beta1"}).encode(),
        FailureReason.NOT_A_REVIEW,
        "must be admission.k8s.io/v1 AdmissionReview, not 'admission.k8s.io/v1beta1 AdmissionReview'",
    ),
    (review_of(pod("a"), uid=""), FailureReason.NOT_A_REVIEW, "The AdmissionReview's request has no uid."),
    (review_of(pod("a")).replace(UID.encode(), b"\xff"), FailureReason.NOT_JSON, "Not JSON: "),
    (review_of({"spec": {"containers": [{"image": 3}]}}), FailureReason.NOT_A_REVIEW, "spec.containers[0].image"),
    (b"[" * 100_000, FailureReason.NOT_A_REVIEW, "Expected `object`"),
    (b'{"request":{"object":' + b'{"spec":' * 100_000, FailureReason.TOO_DEEP, "nested too deeply"),
]


@pytest.mark.parametrize(("body", "reason", "text"), NOT_REVIEWS)
def test_what_is_not_a_review_is_rejected_with_its_reason(body: bytes, reason: FailureReason, text: str) -> None:
    with pytest.raises(ReviewError) as rejected:
        read_review(body)
    assert rejected.value.reason is reason
    assert text in rejected.value.message


def test_nothing_of_a_pod_is_in_an_error() -> None:
    secret = pod("a")
    secret["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    for broken in (review_of(secret)[:-2], review_of(secret, uid=3), review_of(secret, kind="hunter2")):
        with pytest.raises(ReviewError) as rejected:
            read_review(broken)
        assert "hunter2" not in rejected.value.message


NOT_PODS: list[tuple[object, str]] = [
    (None, "the request has no object"),
    ({"spec": {"tolerations": {}}}, "spec.tolerations: must be a list, not {}"),
    ({"spec": {"tolerations": [{"key": "a", "operator": "Like"}]}}, "'Like' is not an operator of a toleration"),
    ({"spec": {"nodeSelector": {"a": 1}}}, "spec.nodeSelector.a: must be a string, not 1"),
    ({"spec": {"affinity": {"nodeAffinity": [1]}}}, "spec.affinity.nodeAffinity: must be a mapping"),
]


def decided(body: bytes, **configuration: Any) -> tuple[dict[str, Any], Any]:
    observer = RecordingObserver()
    answered = answer_at_once(Handler(WebhookConfiguration(**configuration), StandInImages(), observer), body)
    assert observer.failures == []
    return response_in(answered), observer.last


@pytest.mark.parametrize(("object_", "text"), NOT_PODS)
def test_a_pod_that_the_api_server_would_reject_is_left_to_it(object_: object, text: str) -> None:
    response, decision = decided(review_of(object_))
    assert response["uid"] == UID
    assert response["allowed"] is True
    assert "patch" not in response
    assert (decision.outcome, decision.reason) == (DecisionOutcome.SKIP, DecisionReason.INVALID_POD)
    assert text in decision.text


def test_bytes_that_are_not_text_inside_of_a_pod_leave_the_pod_alone() -> None:
    _, decision = decided(review_of(pod("a", nodeSelector={"a": "@"})).replace(b'"@"', b'"\xff"'))
    assert decision.reason is DecisionReason.INVALID_POD


def test_rules_of_more_than_16_kib_are_not_read() -> None:
    _, decision = decided(review_of(pod("a", nodeSelector={"a": "x" * 16384})))
    assert (decision.reason, decision.text) == (
        DecisionReason.INVALID_POD,
        "spec.nodeSelector has more than 16384 bytes",
    )


def test_null_and_what_is_missing_are_the_same() -> None:
    names = ("tolerations", "nodeSelector", "affinity", "os", "imagePullSecrets", "volumes", "initContainers")
    nulls = pod("a", **dict.fromkeys(names), ephemeralContainers=None, nodeName=None)
    nulls["metadata"] = dict.fromkeys(("name", "generateName", "annotations", "ownerReferences", "namespace"))
    assert (
        decided(review_of(nulls, dryRun=None, subResource=None, namespace=None))[1].reason is DecisionReason.SUPPORTED
    )
    assert decided(review_of({"metadata": None, "spec": {"containers": [{"image": "a"}]}}))[1].patch


def test_an_audit_annotation_is_not_longer_than_512_characters() -> None:
    images = [f"registry.example/{'long' * 40}/{number}" for number in range(9)]
    handler = Handler(WebhookConfiguration(), StandInImages(default=AMD64_ONLY), RecordingObserver())
    answered = answer_at_once(handler, review_of(pod(*images)))
    audit = response_in(answered)["auditAnnotations"]
    assert set(audit) == {"decision", "reason"}
    assert audit["decision"] == "leave"
    assert len(audit["reason"]) == 512


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["key", "name", "x"]), inner),
    max_leaves=4,
)
FULL = pod(
    "a",
    initContainers=[{"name": "i", "image": "b", "restartPolicy": "Always"}],
    ephemeralContainers=[{"name": "e", "image": "c"}],
    volumes=[{"name": "v", "image": {"reference": "d"}}],
    tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}],
    nodeSelector={"disk": "ssd"},
    os={"name": "linux"},
    imagePullSecrets=[{"name": "s"}],
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}],
                        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}],
                    }
                ]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
            ],
        }
    },
)


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inner for found in _places(each, (*path, key)))]


def _replaced(value: object, path: tuple[str | int, ...], new: object) -> object:
    """The value with another one at ``path``, as far as an earlier change has left that."""
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, key: _replaced(value.get(key), rest, new)}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return [*value[:key], _replaced(value[key], rest, new), *value[key + 1 :]]
    return value


PLACES = [path for path in _places(json.loads(review_of(FULL))) if path]


@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=3), st.sampled_from(AdmissionMode))
def test_a_review_with_any_values_is_answered_or_rejected(changes: list[tuple[Any, Any]], mode: AdmissionMode) -> None:
    review = json.loads(review_of(FULL))
    for path, value in changes:
        review = _replaced(review, path, value)
    _answered_or_rejected(json.dumps(review).encode(), mode)


def _answered_or_rejected(body: bytes, mode: AdmissionMode | None = None) -> None:
    observer = RecordingObserver()
    handler = Handler(WebhookConfiguration(), StandInImages(), observer)
    try:
        answered = answer_at_once(handler, body, mode)
    except ReviewError:
        assert [reason for reason, _ in observer.failures] != [FailureReason.INTERNAL]
        return
    assert response_in(answered)["allowed"] is True
    assert observer.failures == []
