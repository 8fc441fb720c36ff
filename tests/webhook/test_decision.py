"""The decision about a pod by its own rules, and by what its images support."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.facts.admission import AdmissionMode
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import DecisionOutcome, DecisionReason, PodImage
from tests.webhook.decided import ARM, REQUIRED, Decided, among, requires, requiring
from tests.webhook.stand_ins import (
    AMD64_ONLY,
    IMAGES,
    RecordingObserver,
    StandInImages,
    answer_at_once,
    found,
    pod,
    review_of,
)

TOLERATE, OBSERVE = AdmissionMode.TOLERATE, AdmissionMode.OBSERVE
MODES = list(AdmissionMode)
LACKS_ARM64 = "amd does not support arm64: index lacks linux/arm64"
LACKS_AMD64 = "arm does not support amd64: index lacks linux/amd64"
IS_LATE = "late could not be read: the registry did not answer in time"
IS_REJECTED = "rejected could not be read: the registry answered 401 Unauthorized"
IS_UNCLEAR = "unclear may not support arm64: single manifest, and its config has no architecture"

# -- what the pod says itself ------------------------------------------------------------------------------------------


def test_two_tolerations_in_three_out_in_their_order() -> None:
    own = [
        {"key": "dedicated", "operator": "Equal", "value": "x", "effect": "NoSchedule", "future": {"a": 1}},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
    ]
    decided = Decided(pod("both", tolerations=own))
    assert decided.patch == [{"op": "add", "path": "/spec/tolerations/-", "value": ARM}]
    assert decided.pod["spec"]["tolerations"] == [*own, ARM]


def test_several_taints_get_their_tolerations_but_those_that_are_tolerated() -> None:
    taints = ["kubernetes.io/arch=arm64:NoSchedule", "arch=arm64:NoSchedule", "team:NoExecute"]
    own = [{"key": "arch", "operator": "Exists"}]
    decided = Decided(pod("both", tolerations=own), taints=taints)
    assert [each["value"] for each in decided.patch] == [
        {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "effect": "NoExecute"},
    ]


TOLERATING = [[ARM], [{"operator": "Exists"}], [{"key": "arch", "operator": "Exists", "effect": "NoSchedule"}]]


@pytest.mark.parametrize("own", TOLERATING)
def test_a_pod_that_tolerates_already_is_left_alone(own: list[dict[str, Any]]) -> None:
    for image, mode in zip(IMAGES, [TOLERATE, OBSERVE] * 3, strict=True):
        decided = Decided(pod(image, tolerations=own), mode)
        assert decided.outcome == (DecisionOutcome.SKIP, DecisionReason.TOLERATES_ALREADY)
        assert decided.patch == []
        assert decided.images.asked == []


@pytest.mark.parametrize("mode", MODES)
def test_a_pod_may_opt_out(mode: AdmissionMode) -> None:
    whole = pod("both")
    whole["metadata"]["annotations"] = {"multiarch-eks/webhook": "off", "other": "x"}
    decided = Decided(whole, mode, annotate=True)
    assert (decided.outcome, decided.patch) == ((DecisionOutcome.SKIP, DecisionReason.OPTED_OUT), [])
    assert decided.images.asked == []


@pytest.mark.parametrize("written", ["Off", ""])
def test_another_value_of_the_annotation_is_said_and_the_pod_left_alone(written: str) -> None:
    whole = pod("both")
    whole["metadata"]["annotations"] = {"multiarch-eks/webhook": written}
    decided = Decided(whole)
    assert (decided.outcome, decided.patch) == ((DecisionOutcome.SKIP, DecisionReason.INVALID_MODE), [])
    text = f"annotation multiarch-eks/webhook must be off, not {written!r}: left alone"
    assert decided.decision.text == text
    assert decided.response["warnings"] == [text]


def named_by_field(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


ONE_NODE = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
NOT_ONE_NODE = {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["node-1"]}]}
ZONE = {"matchExpressions": [among("topology.kubernetes.io/zone", "a")]}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"nodeName": "node-1"}, "nodeName is node-1"),
        ({"affinity": named_by_field({**ONE_NODE, **ZONE}, ONE_NODE)}, "the node affinity names a node"),
    ],
)
def test_a_pod_that_is_scheduled_by_name_is_left_alone(spec: dict[str, Any], text: str, mode: AdmissionMode) -> None:
    decided = Decided(pod("both", **spec), mode)
    assert decided.outcome == (DecisionOutcome.SKIP, DecisionReason.SCHEDULED_BY_NAME)
    assert (decided.decision.text, decided.patch, decided.images.asked) == (text, [], [])


@pytest.mark.parametrize("terms", [(NOT_ONE_NODE,), (ONE_NODE, ZONE), (ZONE,)])
def test_other_terms_name_no_node(terms: tuple[dict[str, Any], ...]) -> None:
    assert Decided(pod("both", affinity=named_by_field(*terms))).outcome == (
        DecisionOutcome.TOLERATE,
        DecisionReason.SUPPORTED,
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"nodeSelector": {"kubernetes.io/arch": "amd64"}},
            "the pod can't use arm64 nodes: nodeSelector requires kubernetes.io/arch=amd64",
        ),
        ({"os": {"name": "windows"}}, "the pod can't use arm64 nodes: os.name requires windows (amd64 only)"),
        (
            {"affinity": requiring([requires("amd64")], [requires("amd64"), among("a", "b")])},
            (
                "the pod can't use arm64 nodes: architecture amd64 required by affinity term 1, and architecture amd64 "
                "required by affinity term 2"
            ),
        ),
    ],
)
def test_a_pod_that_excludes_arm64_is_left_alone(spec: dict[str, Any], text: str, mode: AdmissionMode) -> None:
    for image in IMAGES:
        decided = Decided(pod(image, **spec), mode)
        assert decided.outcome == (DecisionOutcome.SKIP, DecisionReason.EXCLUDED)
        assert (decided.decision.text, decided.patch, decided.images.asked) == (text, [], [])


FOR_ARM64: list[dict[str, Any]] = [
    {"nodeSelector": {"kubernetes.io/arch": "arm64"}},
    {"affinity": requiring([among("karpenter.k8s.aws/instance-family", "m7g", "c7g")])},
]
"""Rules by which a pod requires arm64 itself."""


@pytest.mark.parametrize("mode", [TOLERATE, AdmissionMode.PREFER, AdmissionMode.PIN])
@pytest.mark.parametrize("spec", FOR_ARM64)
@pytest.mark.parametrize("images", [["arm"], ["both", "arm"]])
def test_a_pod_that_requires_arm64_gets_the_tolerations_alone(
    images: list[str], spec: dict[str, Any], mode: AdmissionMode
) -> None:
    """Without them it would stay Pending; there is nothing to prefer, and nothing to require."""
    decided = Decided(pod(*images, **spec), mode)
    assert decided.outcome == (DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED)
    assert decided.decision.text == ("its image supports arm64" if len(images) == 1 else "all 2 images support arm64")
    assert decided.patch == [{"op": "add", "path": "/spec/tolerations", "value": [ARM]}]
    assert Decided(decided.pod, mode).outcome == (DecisionOutcome.SKIP, DecisionReason.TOLERATES_ALREADY)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("architectures", [["amd64", "arm64"], ["arm64"]])
@pytest.mark.parametrize(
    ("images", "outcome", "reason", "text", "warning"),
    [
        (
            ["amd"],
            DecisionOutcome.LEAVE,
            DecisionReason.UNSUPPORTED_IMAGE,
            f"no node that the pod allows can run all images: {LACKS_ARM64}",
            "amd does not support arm64",
        ),
        (["arm", "late"], DecisionOutcome.UNKNOWN, DecisionReason.DEADLINE, IS_LATE, "late could not be read"),
    ],
)
def test_a_pod_that_requires_arm64_with_other_images_is_left_alone(
    images: list[str],
    outcome: DecisionOutcome,
    reason: DecisionReason,
    text: str,
    warning: str,
    architectures: list[str],
    mode: AdmissionMode,
) -> None:
    whole = pod(*images, **FOR_ARM64[0])
    decided = Decided(whole, mode, architectures=architectures, warnings=True)
    assert (decided.outcome, decided.decision.text, decided.patch) == ((outcome, reason), text, [])
    assert decided.response["warnings"] == [warning]


def test_what_an_architecture_lacks_that_the_pod_excludes_is_not_said() -> None:
    answers = {"x": found(amd64="unsupported", arm64="unsupported"), "y": found(amd64="unknown", arm64="supported")}
    observer = RecordingObserver()
    handler = Handler(WebhookConfiguration(), StandInImages(answers), observer)
    answer_at_once(handler, review_of(pod("x", "y", **FOR_ARM64[0])))
    assert observer.last.text.endswith(" images: x does not support arm64: index lacks linux/arm64")
    assert observer.last.images == ("x",)
    answer_at_once(handler, review_of(pod("y", **FOR_ARM64[0])))
    assert observer.last.outcome is DecisionOutcome.TOLERATE


@pytest.mark.parametrize("mode", [TOLERATE, AdmissionMode.PREFER, AdmissionMode.PIN])
def test_with_amd64_alone_required_the_taints_are_those_of_amd64_nodes(mode: AdmissionMode) -> None:
    """Nothing is known about arm64, so it is not preferred."""
    for rules in ({}, {"nodeSelector": {"kubernetes.io/arch": "amd64"}}):
        decided = Decided(pod("amd", **rules), mode, architectures=["amd64"])
        assert (decided.outcome, decided.decision.text) == (
            (DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED),
            "its image supports amd64",
        )
        assert [each["path"] for each in decided.patch] == ["/spec/tolerations"]
    decided = Decided(pod("both", **FOR_ARM64[0]), mode, architectures=["amd64"])
    assert decided.outcome == (DecisionOutcome.SKIP, DecisionReason.EXCLUDED)
    assert decided.decision.text == "the pod can't use amd64 nodes: nodeSelector requires kubernetes.io/arch=arm64"


@pytest.mark.parametrize("spec", [{}, {"containers": []}, {"containers": None, "initContainers": [{"image": "both"}]}])
def test_a_pod_without_containers_is_left_alone(spec: dict[str, Any]) -> None:
    decided = Decided({"metadata": {"name": "p"}, "spec": spec})
    assert decided.outcome == (DecisionOutcome.SKIP, DecisionReason.NO_CONTAINERS)
    assert decided.patch == []
    assert Decided({"kind": "Pod"}).outcome == (DecisionOutcome.SKIP, DecisionReason.NO_CONTAINERS)


# -- images ------------------------------------------------------------------------------------------------------------


def test_each_image_is_asked_for_once_with_how_it_is_used() -> None:
    spec = {
        "initContainers": [{"image": "both"}, {"image": "b"}],
        "ephemeralContainers": [{"image": "c"}],
        "volumes": [{"image": {"reference": "both"}}, {"image": {"reference": "d"}}, {"image": {"reference": "d"}}],
    }
    assert Decided(pod("both", "a", **spec)).images.asked == [
        PodImage("both"),
        PodImage("b"),
        PodImage("a"),
        PodImage("c"),
        PodImage("both", mounted=True),
        PodImage("d", mounted=True),
    ]


@pytest.mark.parametrize(
    ("images", "outcome", "reason", "text"),
    [
        (["both", "both2"], DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED, "all 2 images support amd64 and arm64"),
        (["both"], DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED, "its image supports amd64 and arm64"),
        (["amd", "late"], DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE, LACKS_ARM64),
        (["late", "arm"], DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE, LACKS_AMD64),
        (
            ["amd", "arm"],
            DecisionOutcome.LEAVE,
            DecisionReason.UNSUPPORTED_IMAGE,
            f"no amd64 or arm64 node can run all images: {LACKS_ARM64}; {LACKS_AMD64}",
        ),
        (["both", "late"], DecisionOutcome.UNKNOWN, DecisionReason.DEADLINE, IS_LATE),
        (["rejected", "late"], DecisionOutcome.UNKNOWN, DecisionReason.UNREADABLE_IMAGE, f"{IS_REJECTED}; {IS_LATE}"),
        (
            ["unclear"],
            DecisionOutcome.UNKNOWN,
            DecisionReason.UNREADABLE_IMAGE,
            IS_UNCLEAR,
        ),
        (
            ["", "both"],
            DecisionOutcome.UNKNOWN,
            DecisionReason.UNREADABLE_IMAGE,
            "a container or image volume names no image",
        ),
        (["", "amd"], DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE, LACKS_ARM64),
    ],
)
def test_images_decide(images: list[str], outcome: DecisionOutcome, reason: DecisionReason, text: str) -> None:
    decided = Decided(pod(*images))
    assert (decided.outcome, decided.decision.text) == ((outcome, reason), text)
    assert bool(decided.patch) == (outcome is DecisionOutcome.TOLERATE)
    assert set(decided.decision.images) <= set(images)
    assert decided.response["auditAnnotations"] == {"decision": outcome, "reason": f"{reason}: {text}"}


def test_many_images_are_named_by_the_first_three() -> None:
    answers = {f"i{number}": AMD64_ONLY for number in range(6)}
    observer = RecordingObserver()
    answer_at_once(Handler(WebhookConfiguration(), StandInImages(answers), observer), review_of(pod(*answers)))
    assert observer.last.text.endswith("i2 does not support arm64: index lacks linux/arm64; and 3 more images")
    assert observer.last.images == tuple(answers)


def test_a_pod_with_too_many_images_is_left_alone() -> None:
    decided = Decided(pod("a", "b", "c"), limits={"images": 2})
    assert decided.outcome == (DecisionOutcome.UNKNOWN, DecisionReason.TOO_MANY_IMAGES)
    assert decided.decision.text == "the pod has 3 images, more than limits.images, which is 2"
    assert (decided.patch, decided.images.asked) == ([], [])
    assert Decided(pod("a", "b", "b"), limits={"images": 2}).patch


def test_names_of_images_are_shown_without_what_steers_a_terminal() -> None:
    observer = RecordingObserver()
    images = StandInImages(default=AMD64_ONLY)
    answer_at_once(Handler(WebhookConfiguration(), images, observer), review_of(pod("a\x1b[2J\n", "b" * 400)))
    first, second = observer.last.images
    assert first == r"a\x1b[2J\n"
    assert second == f"{'b' * 197}..."
    assert observer.last.text.isprintable()
