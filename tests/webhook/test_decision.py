"""The decision about a pod in each mode, by its own rules and by what its images support."""

from __future__ import annotations

import json
from typing import Any

import pytest

from multiarch.facts.admission import Mode
from multiarch.facts.taints import TaintSyntaxError
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.decision import Decider
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import Answer, Decision, NotFound, Outcome, PodImage, Reason
from tests.webhook.stand_ins import (
    AMD64_ONLY,
    ARM64_ONLY,
    BOTH,
    LATE,
    REFUSED,
    UNCLEAR,
    RecordingObserver,
    StandInImages,
    found,
    patch_in,
    patched,
    pod,
    response_in,
    review_of,
)

TOLERATE, PREFER, PIN, OBSERVE = Mode.TOLERATE, Mode.PREFER, Mode.PIN, Mode.OBSERVE
MODES = list(Mode)
ARM = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
IMAGES: dict[str, Answer] = {
    "both": BOTH,
    "amd": AMD64_ONLY,
    "arm": ARM64_ONLY,
    "unclear": UNCLEAR,
    "refused": REFUSED,
    "late": LATE,
}


class Decided:
    """One review and what came of it."""

    def __init__(self, whole: dict[str, Any], mode: Mode | None = None, /, **configuration: Any) -> None:
        observer, self.images = RecordingObserver(), StandInImages(IMAGES)
        handler = Handler(WebhookConfiguration(**configuration), self.images, observer)
        answered = handler.review_now(review_of(whole), mode)
        assert answered is not None
        assert observer.failures == []
        self.decision: Decision = observer.last
        self.response = response_in(answered)
        self.patch = patch_in(answered)
        assert self.response["allowed"] is True
        assert (json.loads(self.decision.patch) if self.decision.patch else []) == self.patch
        self.pod = patched(whole, answered)

    @property
    def outcome(self) -> tuple[Outcome, Reason]:
        return self.decision.outcome, self.decision.reason


def requiring(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}}}


def among(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def requires(architecture: str) -> dict[str, Any]:
    return among("kubernetes.io/arch", architecture)


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


def test_the_taint_of_gke_is_tolerated() -> None:
    taint = "kubernetes.io/arch=arm64:NoSchedule"
    decided = Decided(pod("both"), taints=[taint])
    assert decided.pod["spec"]["tolerations"] == [
        {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
    ]
    assert Decided(decided.pod, taints=[taint]).decision.text == f"the pod tolerates {taint} already"


TOLERATING = [[ARM], [{"operator": "Exists"}], [{"key": "arch", "operator": "Exists", "effect": "NoSchedule"}]]


@pytest.mark.parametrize("own", TOLERATING)
@pytest.mark.parametrize("mode", [TOLERATE, OBSERVE])
def test_a_pod_that_tolerates_already_is_left_alone(own: list[dict[str, Any]], mode: Mode) -> None:
    for image in IMAGES:
        decided = Decided(pod(image, tolerations=own), mode)
        assert decided.outcome == (Outcome.SKIP, Reason.TOLERATES_ALREADY)
        assert decided.patch == []
        assert decided.images.asked == []


@pytest.mark.parametrize("own", [[{"key": "arch", "value": "amd64"}], [{"key": "arch", "effect": "NoSchedule"}], []])
def test_another_toleration_is_not_the_toleration(own: list[dict[str, Any]]) -> None:
    assert Decided(pod("both", tolerations=own)).pod["spec"]["tolerations"] == [*own, ARM]


@pytest.mark.parametrize("mode", MODES)
def test_a_pod_may_opt_out(mode: Mode) -> None:
    whole = pod("both")
    whole["metadata"]["annotations"] = {"multiarch-eks/webhook": "off", "other": "x"}
    decided = Decided(whole, mode, annotate=True)
    assert (decided.outcome, decided.patch) == ((Outcome.SKIP, Reason.OPTED_OUT), [])
    assert decided.images.asked == []
    whole["metadata"]["annotations"]["multiarch-eks/webhook"] = "on"
    assert Decided(whole, mode).outcome == (Outcome.TOLERATE, Reason.SUPPORTED)


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
        ({"affinity": named_by_field(ONE_NODE)}, "the node affinity names a node"),
        ({"affinity": named_by_field({**ONE_NODE, **ZONE}, ONE_NODE)}, "the node affinity names a node"),
    ],
)
def test_a_pod_that_is_scheduled_by_name_is_left_alone(spec: dict[str, Any], text: str, mode: Mode) -> None:
    decided = Decided(pod("both", **spec), mode)
    assert decided.outcome == (Outcome.SKIP, Reason.SCHEDULED_BY_NAME)
    assert (decided.decision.text, decided.patch, decided.images.asked) == (text, [], [])


@pytest.mark.parametrize("terms", [(NOT_ONE_NODE,), (ONE_NODE, ZONE), (ZONE,)])
def test_other_terms_name_no_node(terms: tuple[dict[str, Any], ...]) -> None:
    assert Decided(pod("both", affinity=named_by_field(*terms))).outcome == (Outcome.TOLERATE, Reason.SUPPORTED)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"nodeSelector": {"kubernetes.io/arch": "amd64"}},
            "the pod can't use arm64 nodes: nodeSelector requires kubernetes.io/arch=amd64",
        ),
        (
            {"nodeSelector": {"beta.kubernetes.io/arch": "arm64"}},
            "the pod can't use amd64 nodes: nodeSelector requires beta.kubernetes.io/arch=arm64",
        ),
        ({"os": {"name": "windows"}}, "the pod can't use arm64 nodes: os.name requires windows (amd64 only)"),
        (
            {"affinity": requiring([requires("amd64")], [requires("amd64"), among("a", "b")])},
            (
                "the pod can't use arm64 nodes: architecture amd64 required by affinity term 1, and architecture amd64 "
                "required by affinity term 2"
            ),
        ),
        (
            {"nodeSelector": {"node.kubernetes.io/instance-type": "m7g.large"}},
            (
                "the pod can't use amd64 nodes: nodeSelector requires node.kubernetes.io/instance-type=m7g.large "
                "(arm64 only)"
            ),
        ),
    ],
)
def test_a_pod_that_pins_an_architecture_is_left_alone(spec: dict[str, Any], text: str, mode: Mode) -> None:
    for image in IMAGES:
        decided = Decided(pod(image, **spec), mode)
        assert decided.outcome == (Outcome.SKIP, Reason.EXCLUDED)
        assert (decided.decision.text, decided.patch, decided.images.asked) == (text, [], [])


def test_a_term_that_leaves_all_architectures_open_excludes_none() -> None:
    affinity = requiring([requires("amd64")], [among("a", "b")])
    assert Decided(pod("both", affinity=affinity)).outcome == (Outcome.TOLERATE, Reason.SUPPORTED)


def test_only_required_architectures_count() -> None:
    observer = RecordingObserver()
    handler = Handler(
        WebhookConfiguration(architectures=["arm64"]), StandInImages(default=found(arm64="supported")), observer
    )
    handler.review_now(review_of(pod("a", nodeSelector={"kubernetes.io/arch": "arm64"})), None)
    assert (observer.last.outcome, observer.last.text) == (Outcome.TOLERATE, "its image supports arm64")


@pytest.mark.parametrize("spec", [{}, {"containers": []}, {"containers": None, "initContainers": [{"image": "both"}]}])
def test_a_pod_without_containers_is_left_alone(spec: dict[str, Any]) -> None:
    decided = Decided({"metadata": {"name": "p"}, "spec": spec})
    assert decided.outcome == (Outcome.SKIP, Reason.NO_CONTAINERS)
    assert decided.patch == []
    assert Decided({"kind": "Pod"}).outcome == (Outcome.SKIP, Reason.NO_CONTAINERS)


# -- images ------------------------------------------------------------------------------------------------------------

EVERYWHERE: list[dict[str, Any]] = [
    {"initContainers": [{"name": "i", "image": "amd"}]},
    {"initContainers": [{"name": "i", "image": "amd", "restartPolicy": "Always"}]},
    {"ephemeralContainers": [{"name": "e", "image": "amd"}]},
    {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "image": {"reference": "amd"}}]},
]


@pytest.mark.parametrize("spec", EVERYWHERE)
def test_every_image_counts_wherever_it_is_used(spec: dict[str, Any]) -> None:
    decided = Decided(pod("both", **spec))
    assert decided.outcome == (Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE)
    assert decided.decision.text == "amd does not support arm64: index lacks linux/arm64"
    assert decided.decision.images == ("amd",)
    assert decided.patch == []


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


LACKS_ARM64 = "amd does not support arm64: index lacks linux/arm64"
LACKS_AMD64 = "arm does not support amd64: index lacks linux/amd64"
IS_LATE = "late could not be read: the registry did not answer in time"
IS_REFUSED = "refused could not be read: the registry answered 401 Unauthorized"


@pytest.mark.parametrize(
    ("images", "outcome", "reason", "text"),
    [
        (["both", "both2"], Outcome.TOLERATE, Reason.SUPPORTED, "all 2 images support amd64 and arm64"),
        (["both"], Outcome.TOLERATE, Reason.SUPPORTED, "its image supports amd64 and arm64"),
        (["amd", "late"], Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE, LACKS_ARM64),
        (["late", "arm"], Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE, LACKS_AMD64),
        (
            ["amd", "arm"],
            Outcome.LEAVE,
            Reason.UNSUPPORTED_IMAGE,
            f"no amd64 or arm64 node can run all images: {LACKS_ARM64}; {LACKS_AMD64}",
        ),
        (["both", "late"], Outcome.UNKNOWN, Reason.DEADLINE, IS_LATE),
        (["refused", "late"], Outcome.UNKNOWN, Reason.UNREADABLE_IMAGE, f"{IS_REFUSED}; {IS_LATE}"),
        (
            ["unclear"],
            Outcome.UNKNOWN,
            Reason.UNREADABLE_IMAGE,
            "unclear may not support arm64: single manifest, and its config has no architecture",
        ),
        (["", "both"], Outcome.UNKNOWN, Reason.UNREADABLE_IMAGE, "a container or image volume names no image"),
        (["", "amd"], Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE, LACKS_ARM64),
    ],
)
def test_images_decide(images: list[str], outcome: Outcome, reason: Reason, text: str) -> None:
    decided = Decided(pod(*images))
    assert (decided.outcome, decided.decision.text) == ((outcome, reason), text)
    assert bool(decided.patch) == (outcome is Outcome.TOLERATE)
    assert set(decided.decision.images) <= set(images)
    assert decided.response["auditAnnotations"] == {"decision": outcome, "reason": f"{reason}: {text}"}


@pytest.mark.parametrize("reason", [Reason.REGISTRY_NOT_ALLOWED, Reason.TOO_MANY_LOOKUPS, Reason.DEADLINE])
def test_why_an_image_could_not_be_read_is_the_reason(reason: Reason) -> None:
    configuration = WebhookConfiguration()
    observer = RecordingObserver()
    images = StandInImages({"x": NotFound(reason, "why")})
    Handler(configuration, images, observer).review_now(review_of(pod("both", "x")), None)
    assert (observer.last.reason, observer.last.text, observer.last.images) == (
        reason,
        "x could not be read: why",
        ("x",),
    )


def test_many_images_are_named_by_the_first_three() -> None:
    answers = {f"i{number}": AMD64_ONLY for number in range(6)}
    observer = RecordingObserver()
    Handler(WebhookConfiguration(), StandInImages(answers), observer).review_now(review_of(pod(*answers)), None)
    assert observer.last.text.endswith("i2 does not support arm64: index lacks linux/arm64; and 3 more images")
    assert observer.last.images == tuple(answers)


def test_a_pod_with_too_many_images_is_left_alone() -> None:
    decided = Decided(pod("a", "b", "c"), limits={"images": 2})
    assert decided.outcome == (Outcome.UNKNOWN, Reason.TOO_MANY_IMAGES)
    assert decided.decision.text == "the pod has 3 images, more than limits.images, which is 2"
    assert (decided.patch, decided.images.asked) == ([], [])
    assert Decided(pod("a", "b", "b"), limits={"images": 2}).patch


def test_names_of_images_are_shown_without_what_steers_a_terminal() -> None:
    observer = RecordingObserver()
    images = StandInImages(default=AMD64_ONLY)
    Handler(WebhookConfiguration(), images, observer).review_now(review_of(pod("a\x1b[2J\n", "b" * 400)), None)
    first, second = observer.last.images
    assert first == r"a\x1b[2J\n"
    assert second == f"{'b' * 197}..."
    assert observer.last.text.isprintable()


# -- modes -------------------------------------------------------------------------------------------------------------


def preferring(*weighted: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    terms = [{"weight": weight, "preference": {"matchExpressions": [rule]}} for weight, rule in weighted]
    return {"nodeAffinity": {PREFERRED: terms}}


def test_prefer_adds_a_preference_besides() -> None:
    decided = Decided(pod("both"), PREFER, preferredWeight=7)
    assert decided.outcome == (Outcome.TOLERATE, Reason.SUPPORTED)
    assert decided.pod["spec"]["tolerations"] == [ARM]
    assert decided.pod["spec"]["affinity"] == preferring((7, requires("arm64")))


def test_prefer_keeps_what_is_preferred() -> None:
    own = preferring((3, among("disk", "ssd")))
    decided = Decided(pod("both", affinity={**own, "podAffinity": {}}), PREFER)
    assert decided.pod["spec"]["affinity"] == {
        **preferring((3, among("disk", "ssd")), (100, requires("arm64"))),
        "podAffinity": {},
    }


@pytest.mark.parametrize("key", ["kubernetes.io/arch", "beta.kubernetes.io/arch"])
@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_prefer_adds_nothing_to_a_preference_of_the_pods_own(key: str, architecture: str) -> None:
    own = preferring((1, among(key, architecture)))
    decided = Decided(pod("both", affinity=own), PREFER)
    assert decided.pod["spec"]["affinity"] == own
    assert decided.pod["spec"]["tolerations"] == [ARM]
    assert Decided(decided.pod, PREFER).outcome == (Outcome.SKIP, Reason.TOLERATES_ALREADY)


def test_prefer_gives_a_pod_that_tolerates_already_the_preference_alone() -> None:
    decided = Decided(pod("both", tolerations=[ARM]), PREFER)
    assert decided.outcome == (Outcome.TOLERATE, Reason.SUPPORTED)
    assert [each["path"] for each in decided.patch] == ["/spec/affinity"]
    assert Decided(pod("amd", tolerations=[ARM]), PREFER).patch == []


def test_prefer_without_arm64_among_the_required_never_contradicts_the_pod() -> None:
    whole = pod("both", nodeSelector={"kubernetes.io/arch": "amd64"})
    decided = Decided(whole, PREFER, architectures=["amd64"])
    assert [each["path"] for each in decided.patch] == ["/spec/tolerations"]


@pytest.mark.parametrize("image", list(IMAGES))
def test_only_pods_whose_images_support_all_get_a_preference(image: str) -> None:
    assert bool(Decided(pod(image), PREFER).patch) == (image == "both")


def test_pin_requires_the_one_architecture_of_all_images() -> None:
    decided = Decided(pod("amd", "both"), PIN)
    assert decided.outcome == (Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE)
    assert decided.decision.pinned == "amd64"
    assert decided.decision.text == "amd does not support arm64: index lacks linux/arm64; requires amd64"
    assert decided.pod["spec"]["affinity"] == requiring([requires("amd64")])
    assert "tolerations" not in decided.pod["spec"]


def test_pin_adds_to_every_term_because_terms_are_alternatives() -> None:
    terms = [[among("a", "b")], [among("c", "d"), {"key": "e", "operator": "Exists"}], [requires("amd64")]]
    decided = Decided(pod("amd", affinity=requiring(*terms)), PIN)
    assert decided.pod["spec"]["affinity"] == requiring(
        [*terms[0], requires("amd64")], [*terms[1], requires("amd64")], [requires("amd64")]
    )


def test_pin_to_arm64_tolerates_too_because_the_pod_could_not_be_scheduled_otherwise() -> None:
    decided = Decided(pod("arm", "both"), PIN)
    assert decided.outcome == (Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE)
    assert decided.decision.pinned == "arm64"
    assert decided.pod["spec"]["affinity"] == requiring([requires("arm64")])
    assert decided.pod["spec"]["tolerations"] == [ARM]


def test_pin_leaves_pods_of_both_architectures_as_tolerate_does() -> None:
    assert Decided(pod("both"), PIN).patch == Decided(pod("both"), TOLERATE).patch != []


@pytest.mark.parametrize("images", [["amd", "arm"], ["late"], ["unclear"], ["refused", "both"], ["neither"]])
def test_pin_requires_nothing_that_is_not_known(images: list[str]) -> None:
    observer = RecordingObserver()
    answers = {**IMAGES, "neither": found(amd64="unsupported", arm64="unsupported")}
    answered = Handler(WebhookConfiguration(), StandInImages(answers), observer).review_now(
        review_of(pod(*images)), PIN
    )
    assert observer.last.pinned == ""
    assert answered is not None
    assert patch_in(answered) == []


def test_pin_does_not_wait_for_an_image_that_changes_nothing() -> None:
    decided = Decided(pod("amd", "late", "unclear"), PIN)
    assert decided.decision.pinned == "amd64"


def test_pin_does_not_require_what_may_not_be_supported() -> None:
    answers = {"x": found(amd64="unsupported", arm64="unknown")}
    observer = RecordingObserver()
    Handler(WebhookConfiguration(), StandInImages(answers), observer).review_now(review_of(pod("x")), PIN)
    assert (observer.last.outcome, observer.last.pinned) == (Outcome.LEAVE, "")


def test_pin_of_one_required_architecture_knows_nothing_of_others() -> None:
    answers = {"x": found(arm64="unsupported")}
    observer = RecordingObserver()
    configuration = WebhookConfiguration(architectures=["arm64"])
    Handler(configuration, StandInImages(answers), observer).review_now(review_of(pod("x")), PIN)
    assert (observer.last.outcome, observer.last.pinned, observer.last.patch) == (Outcome.LEAVE, "", b"")
    assert observer.last.text == "x does not support arm64: index lacks linux/arm64"


def test_pin_still_pins_a_pod_that_tolerates_already() -> None:
    decided = Decided(pod("amd", tolerations=[{"operator": "Exists"}]), PIN)
    assert decided.decision.pinned == "amd64"
    assert decided.pod["spec"]["affinity"] == requiring([requires("amd64")])
    both = Decided(pod("both", tolerations=[{"operator": "Exists"}]), PIN)
    assert (both.outcome, both.patch) == ((Outcome.SKIP, Reason.TOLERATES_ALREADY), [])


@pytest.mark.parametrize("configured", list(Mode))
@pytest.mark.parametrize("image", list(IMAGES))
def test_observe_decides_as_the_configured_mode_and_changes_nothing(image: str, configured: Mode) -> None:
    observed = Decided(pod(image), OBSERVE, mode=str(configured), annotate=True)
    acting = Decided(pod(image), TOLERATE if configured is OBSERVE else configured, annotate=True)
    assert observed.patch == []
    assert observed.outcome == acting.outcome
    assert (observed.decision.text, observed.decision.pinned) == (acting.decision.text, acting.decision.pinned)


# -- twice -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("annotate", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("images", [["both"], ["amd"], ["arm"], ["unclear"], ["late"], ["amd", "arm"], [""]])
def test_applied_twice_it_changes_nothing(images: list[str], mode: Mode, *, annotate: bool) -> None:
    once = Decided(pod(*images), mode, annotate=annotate)
    assert Decided(once.pod, mode, annotate=annotate).patch == []


def with_sidecar(whole: dict[str, Any], image: str) -> dict[str, Any]:
    sidecar = {"name": "proxy", "image": image}
    return {**whole, "spec": {**whole["spec"], "containers": [*whole["spec"]["containers"], sidecar]}}


def test_a_sidecar_of_one_architecture_that_comes_later_is_reported() -> None:
    """What was added can't be taken back: only the annotation says that it was the webhook that added it."""
    once = Decided(pod("both"), annotate=True)
    again = Decided(with_sidecar(once.pod, "amd"), annotate=True, warnings=True)
    assert again.outcome == (Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE)
    assert again.decision.text == (
        "amd does not support arm64: index lacks linux/arm64; the pod tolerates arch=arm64:NoSchedule all the same"
    )
    assert again.patch == []
    assert again.response["warnings"] == ["amd does not support arm64"]
    fine = Decided(with_sidecar(once.pod, "both"), annotate=True)
    assert (fine.outcome, fine.patch) == ((Outcome.SKIP, Reason.TOLERATES_ALREADY), [])


def test_a_sidecar_of_one_architecture_that_comes_later_is_pinned() -> None:
    once = Decided(pod("both"), PIN)
    again = Decided(with_sidecar(once.pod, "amd"), PIN)
    assert again.decision.pinned == "amd64"
    assert again.pod["spec"]["affinity"] == requiring([requires("amd64")])
    assert Decided(again.pod, PIN).outcome == (Outcome.SKIP, Reason.EXCLUDED)


def test_an_image_that_another_webhook_fills_in_is_looked_at_then() -> None:
    once = Decided(pod("both", "auto", ""))
    assert once.outcome == (Outcome.UNKNOWN, Reason.UNREADABLE_IMAGE)
    once.pod["spec"]["containers"][2]["image"] = "both"
    assert Decided(once.pod).outcome == (Outcome.TOLERATE, Reason.SUPPORTED)


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


def test_a_skipped_pod_gets_no_annotation() -> None:
    assert Decided(pod("both", nodeName="n"), annotate=True).patch == []


@pytest.mark.parametrize(
    ("images", "warnings"),
    [
        (["both"], None),
        (["amd", "both"], ["amd does not support arm64"]),
        (["refused", "late"], ["refused could not be read", "late could not be read"]),
        (["unclear"], ["unclear may not support arm64"]),
        ([""], ["a container or image volume names no image"]),
    ],
)
def test_warnings_are_returned_on_request(images: list[str], warnings: list[str] | None) -> None:
    assert Decided(pod(*images), warnings=True).response.get("warnings") == warnings
    assert "warnings" not in Decided(pod(*images)).response


def test_a_pod_with_too_many_images_is_warned_about() -> None:
    decided = Decided(pod("a", "b"), warnings=True, limits={"images": 1})
    assert decided.response["warnings"] == ["the pod has 2 images, more than limits.images, which is 1"]


def test_warnings_have_the_length_that_kubernetes_recommends() -> None:
    names = [f"registry.example/{'very-' * 40}long/{number}:v1" for number in range(90)]
    handler = Handler(WebhookConfiguration(warnings=True), StandInImages(default=AMD64_ONLY), RecordingObserver())
    answered = handler.review_now(review_of(pod(*names)), None)
    assert answered is not None
    warnings = response_in(answered)["warnings"]
    assert all(len(each) <= 120 for each in warnings)
    assert 30 < len(warnings) < 90
    assert sum(map(len, warnings)) <= 4096
    assert warnings[0].endswith("-long/0:v1 does not support arm64")


def test_a_taint_that_kubernetes_refuses_is_an_error_at_the_start() -> None:
    with pytest.raises(TaintSyntaxError):
        Decider(WebhookConfiguration(taints=["arch=arm64"]))
