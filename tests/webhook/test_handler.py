"""From the bytes of a review to the bytes of the answer: deadlines, dry runs, failures, and what is remembered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from multiarch.facts.admission import AdmissionMode
from multiarch.schema.webhook import RegistriesConfiguration, WebhookConfiguration
from multiarch.webhook.decision import Decider
from multiarch.webhook.handler import INVALID, Handler
from multiarch.webhook.model import Answer, Decision, DecisionOutcome, DecisionReason, PodImage, PullSecretNames
from multiarch.webhook.pod import AdmittedPod
from multiarch.webhook.review import FailureReason
from tests.webhook.stand_ins import (
    AMD64_ONLY,
    BOTH,
    UID,
    RecordingObserver,
    StandInImages,
    answer_at_once,
    patch_in,
    pod,
    response_in,
    review_of,
)

ARM = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


class Rig:
    """A handler with its stand-ins."""

    def __init__(self, images: StandInImages | None = None, **configuration: Any) -> None:
        self.images = images or StandInImages()
        self.observer = RecordingObserver()
        self.handler = Handler(WebhookConfiguration(**configuration), self.images, self.observer)

    def now(self, body: bytes, mode: AdmissionMode | None = None) -> bytes:
        return answer_at_once(self.handler, body, mode)

    def wait(self, body: bytes, mode: str | None = None) -> bytes:
        return asyncio.run(self.handler.review(body, mode or ""))


def test_a_pod_whose_images_support_both_architectures_gets_the_toleration() -> None:
    rig = Rig()
    answered = rig.now(review_of(pod("a", "b")))
    assert patch_in(answered) == [{"op": "add", "path": "/spec/tolerations", "value": [ARM]}]
    assert response_in(answered) == {
        "uid": UID,
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": response_in(answered)["patch"],
        "auditAnnotations": {
            "decision": "tolerate",
            "reason": "supported: all 2 images support amd64 and arm64",
        },
    }
    (request, decision, seconds) = rig.observer.decisions[0]
    assert (request.uid, request.namespace, request.name) == (UID, "shop", "api-6d4cf56db6-*")
    assert (request.owner, request.mode, request.dry_run) == (
        "ReplicaSet/api-6d4cf56db6",
        AdmissionMode.TOLERATE,
        False,
    )
    assert (decision.outcome, decision.reason) == (DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED)
    assert 0 < seconds < 1


def test_images_that_are_not_known_are_looked_up_once_each() -> None:
    rig = Rig(StandInImages(seconds=0))
    body = review_of(pod("a", "b", "a"))
    rig.wait(body)
    assert rig.images.looked_up == [(PodImage("a"), PodImage("b"))]
    assert patch_in(rig.now(body))


def test_the_replicas_of_a_deployment_are_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    calls: list[AdmittedPod] = []
    decide = Decider.with_images

    def counted(decider: Decider, of: AdmittedPod, answers: Sequence[Answer]) -> Decision:
        calls.append(of)
        return decide(decider, of, answers)

    monkeypatch.setattr(Decider, "with_images", counted)
    for number in range(20):
        volume = {"name": f"kube-api-access-{number}", "projected": {"sources": []}}
        mounts = [{"name": f"kube-api-access-{number}", "mountPath": "/var/run"}]
        replica = pod("a", volumes=[volume])
        replica["spec"]["containers"][0]["volumeMounts"] = mounts
        answered = rig.now(review_of(replica, uid=f"uid-{number}"))
        assert response_in(answered)["uid"] == f"uid-{number}"
        assert patch_in(answered)
    assert len(calls) == 1
    assert len(rig.observer.decisions) == 20


def test_a_moved_tag_changes_the_decision_about_a_pod_that_is_remembered() -> None:
    rig = Rig()
    body = review_of(pod("a"))
    assert patch_in(rig.now(body))
    rig.images.answers["a"] = AMD64_ONLY
    assert not patch_in(rig.now(body))
    rig.images.answers["a"] = BOTH
    assert patch_in(rig.now(body))


def test_the_deadline_is_kept_and_the_pod_allowed_as_it_is() -> None:
    rig = Rig(StandInImages(seconds=30), deadlineSeconds=0.1)
    began = time.perf_counter()
    answered = rig.wait(review_of(pod("a")))
    assert time.perf_counter() - began < 5
    assert response_in(answered)["allowed"] is True
    assert not patch_in(answered)
    assert (rig.observer.last.outcome, rig.observer.last.reason) == (DecisionOutcome.UNKNOWN, DecisionReason.DEADLINE)


def test_a_fault_inside_allows_the_pod() -> None:
    def fail() -> None:
        raise KeyError("secret")

    rig = Rig(StandInImages(seconds=0, hook=fail))
    assert response_in(rig.wait(review_of(pod("a")))) == {"uid": UID, "allowed": True}
    ((reason, text),) = rig.observer.failures
    assert reason == FailureReason.INTERNAL
    assert "KeyError" in text
    assert "secret" not in text


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"operation": "UPDATE"}, "UPDATE of v1/Pod"),
    ({"operation": "CONNECT", "subResource": "exec", "object": {"stdin": True}}, "CONNECT of v1/Pod/exec"),
    ({"kind": {"group": "apps", "version": "v1", "kind": "Deployment"}}, "CREATE of apps/v1/Deployment"),
    ({"kind": None}, "a request without a kind"),
]


@pytest.mark.parametrize(("request_", "text"), OTHERS)
def test_what_is_not_the_creation_of_a_pod_is_allowed(request_: dict[str, Any], text: str) -> None:
    rig = Rig()
    response = response_in(rig.now(review_of(pod("a"), **request_)))
    assert response["allowed"] is True
    assert "patch" not in response
    assert (rig.observer.last.outcome, rig.observer.last.reason) == (DecisionOutcome.SKIP, DecisionReason.NOT_A_POD)
    assert rig.observer.last.text == text
    assert rig.images.asked == []


def test_an_invalid_mode_changes_nothing_and_is_said_to_the_user() -> None:
    rig = Rig()
    response = response_in(rig.wait(review_of(pod("a")), INVALID))
    assert response["allowed"] is True
    assert "patch" not in response
    (warning,) = response["warnings"]
    assert warning == ("label multiarch-eks/webhook of the namespace must be tolerate, prefer, pin, observe or off")
    assert (rig.observer.last.outcome, rig.observer.last.reason) == (DecisionOutcome.SKIP, DecisionReason.INVALID_MODE)
    assert "warnings" not in response_in(rig.wait(review_of(pod("a"), operation="UPDATE"), INVALID))


def test_pull_secrets_are_handed_over_where_they_may_be_read() -> None:
    registries = RegistriesConfiguration(pullSecrets=["shop/one", "shop/two", "other/three"])
    rig = Rig(registries=registries)
    secrets = [{"name": "three"}, {"name": "two"}, {"name": "one"}, {"name": "two"}, {}]
    rig.now(review_of(pod("a", imagePullSecrets=secrets)))
    assert rig.images.secrets == [PullSecretNames("shop", ("two", "one"))]
    rig.now(review_of(pod("a", imagePullSecrets=secrets), namespace="elsewhere"))
    assert rig.images.secrets[1] == PullSecretNames("", ())


def test_remembered_pods_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiarch.webhook.handler._REMEMBERED", 20)
    rig = Rig()
    for number in range(30):
        rig.now(review_of(pod("a", nodeSelector={"k": f"{number}"})))
    assert len(rig.handler._remembered) == 20  # noqa: SLF001
    rig = Rig()
    rig.now(review_of(pod("a", nodeSelector={f"k{each}": "v" * 8 for each in range(100)})))
    assert len(rig.handler._remembered) == 0  # noqa: SLF001
