"""What each mode adds, that once is enough, and what is said of a decision: annotation, warnings."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.facts.admission import AdmissionMode
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import DecisionOutcome, DecisionReason
from tests.webhook.decided import ARM, Decided, among, requires, requiring
from tests.webhook.stand_ins import (
    AMD64_ONLY,
    IMAGES,
    RecordingObserver,
    StandInImages,
    answer_at_once,
    found,
    patch_in,
    pod,
    response_in,
    review_of,
)

TOLERATE, PREFER, PIN, OBSERVE = AdmissionMode.TOLERATE, AdmissionMode.PREFER, AdmissionMode.PIN, AdmissionMode.OBSERVE
MODES = list(AdmissionMode)
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def preferring(*weighted: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    terms = [{"weight": weight, "preference": {"matchExpressions": [rule]}} for weight, rule in weighted]
    return {"nodeAffinity": {PREFERRED: terms}}


def test_prefer_adds_a_preference_besides() -> None:
    decided = Decided(pod("both"), PREFER, preferredWeight=7)
    assert decided.outcome == (DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED)
    assert decided.pod["spec"]["tolerations"] == [ARM]
    assert decided.pod["spec"]["affinity"] == preferring((7, requires("arm64")))


@pytest.mark.parametrize(
    ("key", "architecture"), [("kubernetes.io/arch", "amd64"), ("beta.kubernetes.io/arch", "arm64")]
)
def test_prefer_adds_nothing_to_a_preference_of_the_pods_own(key: str, architecture: str) -> None:
    own = preferring((1, among(key, architecture)))
    decided = Decided(pod("both", affinity=own), PREFER)
    assert decided.pod["spec"]["affinity"] == own
    assert decided.pod["spec"]["tolerations"] == [ARM]
    assert Decided(decided.pod, PREFER).outcome == (DecisionOutcome.SKIP, DecisionReason.TOLERATES_ALREADY)


def test_prefer_gives_a_pod_that_tolerates_already_the_preference_alone() -> None:
    decided = Decided(pod("both", tolerations=[ARM]), PREFER)
    assert decided.outcome == (DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED)
    assert [each["path"] for each in decided.patch] == ["/spec/affinity"]
    assert Decided(pod("amd", tolerations=[ARM]), PREFER).patch == []


def test_pin_requires_the_one_architecture_of_all_images() -> None:
    decided = Decided(pod("amd", "both"), PIN)
    assert decided.outcome == (DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE)
    assert decided.decision.pinned == "amd64"
    assert decided.decision.text == "amd does not support arm64: index lacks linux/arm64; requires amd64"
    assert decided.pod["spec"]["affinity"] == requiring([requires("amd64")])
    assert "tolerations" not in decided.pod["spec"]


def test_pin_to_arm64_tolerates_too_because_the_pod_could_not_be_scheduled_otherwise() -> None:
    decided = Decided(pod("arm", "both"), PIN)
    assert decided.outcome == (DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE)
    assert decided.decision.pinned == "arm64"
    assert decided.pod["spec"]["affinity"] == requiring([requires("arm64")])
    assert decided.pod["spec"]["tolerations"] == [ARM]


@pytest.mark.parametrize("images", [["amd", "arm"], ["late"], ["unclear"], ["rejected", "both"], ["neither"], ["half"]])
def test_pin_requires_nothing_that_is_not_known(images: list[str]) -> None:
    observer = RecordingObserver()
    neither, half = (found(amd64="unsupported", arm64=each) for each in ("unsupported", "unknown"))
    answers = {**IMAGES, "neither": neither, "half": half}
    answered = answer_at_once(
        Handler(WebhookConfiguration(), StandInImages(answers), observer), review_of(pod(*images)), PIN
    )
    assert observer.last.pinned == ""
    assert answered is not None
    assert patch_in(answered) == []


def test_pin_of_one_required_architecture_knows_nothing_of_others() -> None:
    answers = {"x": found(arm64="unsupported")}
    observer = RecordingObserver()
    configuration = WebhookConfiguration(architectures=["arm64"])
    answer_at_once(Handler(configuration, StandInImages(answers), observer), review_of(pod("x")), PIN)
    assert (observer.last.outcome, observer.last.pinned, observer.last.patch) == (DecisionOutcome.LEAVE, "", b"")
    assert observer.last.text == "x does not support arm64: index lacks linux/arm64"


def test_pin_still_pins_a_pod_that_tolerates_already() -> None:
    decided = Decided(pod("amd", tolerations=[{"operator": "Exists"}]), PIN)
    assert decided.decision.pinned == "amd64"
    assert decided.pod["spec"]["affinity"] == requiring([requires("amd64")])
    both = Decided(pod("both", tolerations=[{"operator": "Exists"}]), PIN)
    assert (both.outcome, both.patch) == ((DecisionOutcome.SKIP, DecisionReason.TOLERATES_ALREADY), [])


@pytest.mark.parametrize("configured", list(AdmissionMode))
def test_observe_decides_as_the_configured_mode_and_changes_nothing(configured: AdmissionMode) -> None:
    for image in IMAGES:
        observed = Decided(pod(image), OBSERVE, mode=str(configured), annotate=True)
        acting = Decided(pod(image), TOLERATE if configured is OBSERVE else configured, annotate=True)
        assert observed.patch == []
        assert observed.outcome == acting.outcome
        assert (observed.decision.text, observed.decision.pinned) == (acting.decision.text, acting.decision.pinned)


# -- twice -------------------------------------------------------------------------------------------------------------


def with_sidecar(whole: dict[str, Any], image: str) -> dict[str, Any]:
    sidecar = {"name": "proxy", "image": image}
    return {**whole, "spec": {**whole["spec"], "containers": [*whole["spec"]["containers"], sidecar]}}


def test_a_sidecar_of_one_architecture_that_comes_later_is_reported() -> None:
    """What was added can't be taken back: only the annotation says that it was the webhook that added it."""
    once = Decided(pod("both"), annotate=True)
    again = Decided(with_sidecar(once.pod, "amd"), annotate=True, warnings=True)
    assert again.outcome == (DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE)
    assert again.decision.text == (
        "amd does not support arm64: index lacks linux/arm64; the pod tolerates arch=arm64:NoSchedule all the same"
    )
    assert again.patch == []
    assert again.response["warnings"] == ["amd does not support arm64"]
    fine = Decided(with_sidecar(once.pod, "both"), annotate=True)
    assert (fine.outcome, fine.patch) == ((DecisionOutcome.SKIP, DecisionReason.TOLERATES_ALREADY), [])


def test_a_sidecar_of_one_architecture_that_comes_later_is_pinned_if_that_is_still_possible() -> None:
    again = Decided(with_sidecar(Decided(pod("both"), PIN).pod, "amd"), PIN)
    assert again.decision.pinned == "amd64"
    assert again.pod["spec"]["affinity"] == requiring([requires("amd64")])
    assert Decided(again.pod, PIN).outcome == (DecisionOutcome.SKIP, DecisionReason.EXCLUDED)
    never = Decided(with_sidecar(Decided(pod("arm"), PIN).pod, "amd"), PIN)
    assert never.outcome == (DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE)
    assert never.decision.text == (
        "no node that the pod allows can run all images: amd does not support arm64: index lacks linux/arm64; the pod "
        "tolerates arch=arm64:NoSchedule all the same"
    )
    assert never.patch == []


def test_an_image_that_another_webhook_fills_in_is_looked_at_then() -> None:
    once = Decided(pod("both", "auto", ""))
    assert once.outcome == (DecisionOutcome.UNKNOWN, DecisionReason.UNREADABLE_IMAGE)
    once.pod["spec"]["containers"][2]["image"] = "both"
    assert Decided(once.pod).outcome == (DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED)


# -- annotation and warnings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"name": "p", "annotations": {"a": "b"}}, "/metadata/annotations/multiarch-eks~1decision"),
        ({"name": "p", "annotations": {}}, "/metadata/annotations/multiarch-eks~1decision"),
        ({"name": "p", "annotations": None}, "/metadata/annotations"),
        ({"name": "p"}, "/metadata/annotations"),
        (None, "/metadata"),
    ],
)
def test_the_annotation_says_the_decision(metadata: dict[str, Any] | None, path: str) -> None:
    whole = {**pod("amd"), "metadata": metadata}
    decided = Decided(whole, annotate=True)
    assert [each["path"] for each in decided.patch] == [path]
    annotations = decided.pod["metadata"].pop("annotations")
    assert annotations.pop("multiarch-eks/decision") == "leave: amd does not support arm64: index lacks linux/arm64"
    assert annotations == ((metadata or {}).get("annotations") or {})
    assert decided.pod["metadata"] == {key: value for key, value in (metadata or {}).items() if key != "annotations"}


def test_an_annotation_that_is_there_is_kept() -> None:
    whole = pod("both")
    whole["metadata"]["annotations"] = {"multiarch-eks/decision": "mine"}
    assert [each["path"] for each in Decided(whole, annotate=True).patch] == ["/spec/tolerations"]


@pytest.mark.parametrize(
    ("images", "warnings"),
    [
        (["both"], None),
        (["amd", "both"], ["amd does not support arm64"]),
        (["rejected", "late"], ["rejected could not be read", "late could not be read"]),
        (["unclear"], ["unclear may not support arm64"]),
        ([""], ["a container or image volume names no image"]),
    ],
)
def test_warnings_are_returned_on_request(images: list[str], warnings: list[str] | None) -> None:
    assert Decided(pod(*images), warnings=True).response.get("warnings") == warnings
    assert "warnings" not in Decided(pod(*images)).response


def test_warnings_have_the_length_that_kubernetes_recommends() -> None:
    names = [f"registry.example/{'very-' * 40}long/{number}:v1" for number in range(90)]
    handler = Handler(WebhookConfiguration(warnings=True), StandInImages(default=AMD64_ONLY), RecordingObserver())
    answered = answer_at_once(handler, review_of(pod(*names)))
    assert answered is not None
    warnings = response_in(answered)["warnings"]
    assert all(len(each) <= 120 for each in warnings)
    assert len(warnings) == len(names)
    assert warnings[0].endswith("-long/0:v1 does not support arm64")
