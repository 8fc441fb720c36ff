"""Pods with any fields, also unknown ones: the patch only adds, once is enough, and the pod goes where was decided."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.admission import AdmissionMode
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.images.model import Verdict
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.owners import WorkloadKey
from multiarch.manifests.values import ObjectReference, Value
from multiarch.observed.workloads import list_pod_spec_uses
from multiarch.scheduling.architectures import list_allowed_architectures
from multiarch.scheduling.tolerations import find_untolerated, read_tolerations
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import Answer, Decision, DecisionOutcome, PodImage
from multiarch.webhook.pod import WrittenPod, _Spec, get_pod_key, read_pod
from tests.webhook.stand_ins import (
    AMD64_ONLY,
    ARM64_ONLY,
    BOTH,
    LATE,
    UNCLEAR,
    RecordingObserver,
    StandInImages,
    answer_at_once,
    patch_in,
    patched,
    response_in,
    review_of,
)

IMAGES: dict[str, Answer] = {"both": BOTH, "amd": AMD64_ONLY, "arm": ARM64_ONLY, "late": LATE, "unclear": UNCLEAR}
TAINTS = ["arch=arm64:NoSchedule", "kubernetes.io/arch=arm64:NoSchedule", "team=a:NoExecute"]
KEY = WorkloadKey("shop", "Pod", "p")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
UNKNOWN = st.dictionaries(st.sampled_from(["x-new", "future", "a/b", "c~d", "é"]), ANYTHING, max_size=2)


def an_object(required: dict[str, Any] | None = None, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with the ``required`` and some of the ``optional`` fields, and with fields that nobody knows."""
    known = st.fixed_dictionaries(required or {}, optional=optional)
    return st.builds(lambda unknown, fields: {**unknown, **fields}, UNKNOWN, known)


def some(element: st.SearchStrategy[Any], least: int = 0, most: int = 2) -> st.SearchStrategy[Any]:
    return st.lists(element, min_size=least, max_size=most)


CONTAINERS = some(an_object(image=st.sampled_from([*IMAGES, "", None]), name=st.just("c")))
REAL_CONTAINERS = some(an_object({"image": st.sampled_from(["both", "both", *IMAGES])}), 1)
VOLUMES = some(an_object(image=st.none() | an_object(reference=st.sampled_from(["both", "amd", None]))))
TOLERATIONS = some(
    an_object({"key": st.sampled_from(["arch", "team", "other"])}, operator=st.just("Equal"), value=st.just("arm64"))
    | an_object({"operator": st.just("Exists")}, key=st.sampled_from(["arch", "team"]), effect=st.just("NoSchedule"))
)
EXPRESSIONS = an_object(
    {
        "key": st.sampled_from(["kubernetes.io/arch", "kubernetes.io/arch", "disk", "kubernetes.io/os"]),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.lists(st.sampled_from(["amd64", "arm64", "linux", "ssd"]), min_size=1, max_size=2, unique=True),
    }
)
FIELDS = an_object(
    {
        "key": st.just("metadata.name"),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.just(["node-1"]),
    }
)
TERM = an_object(matchExpressions=st.none() | some(EXPRESSIONS), matchFields=some(FIELDS, most=1))
AFFINITY = an_object(
    podAffinity=ANYTHING,
    nodeAffinity=st.none()
    | an_object(
        requiredDuringSchedulingIgnoredDuringExecution=st.none() | an_object({"nodeSelectorTerms": some(TERM, 1, 3)}),
        preferredDuringSchedulingIgnoredDuringExecution=st.none()
        | some(an_object({"weight": st.integers(1, 100), "preference": TERM})),
    ),
)
SPEC = an_object(
    {"containers": REAL_CONTAINERS},
    initContainers=st.none() | CONTAINERS,
    ephemeralContainers=st.none() | CONTAINERS,
    volumes=st.none() | VOLUMES,
    tolerations=st.none() | TOLERATIONS,
    nodeSelector=st.none()
    | st.dictionaries(st.sampled_from(["kubernetes.io/arch", "disk"]), st.sampled_from(["arm64", "arm64", "amd64"])),
    affinity=st.none() | AFFINITY,
    nodeName=st.none() | st.sampled_from(["", "", "", "node-1"]),
    os=st.none() | an_object(name=st.just("linux")),
    imagePullSecrets=st.none() | some(an_object(name=st.just("s"))),
)
ANNOTATIONS = st.none() | st.dictionaries(
    st.sampled_from(["a", "multiarch-eks/decision"]), st.sampled_from(["b", "tolerate: x"]), max_size=2
)
METADATA = st.none() | an_object(name=st.just("p"), annotations=ANNOTATIONS)
PODS = an_object({"spec": SPEC}, metadata=METADATA)


def decided(pod: dict[str, Any], mode: AdmissionMode, *, annotate: bool) -> tuple[dict[str, Any], Decision, bytes]:
    observer = RecordingObserver()
    configuration = WebhookConfiguration(taints=TAINTS, annotate=annotate, mode="prefer", preferredWeight=9)
    handler = Handler(configuration, StandInImages(IMAGES), observer)
    answered = answer_at_once(handler, review_of(pod), mode)
    assert answered is not None
    assert observer.failures == []
    assert response_in(answered)["allowed"] is True
    return patched(pod, answered), observer.last, answered


def survives(before: object, after: object) -> bool:
    """Whether all that was there is there, lists in their order; in the place of null there may be something."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(key in after and survives(before[key], after[key]) for key in before)
    if isinstance(before, list):
        return isinstance(after, list) and len(before) <= len(after) and all(map(survives, before, after))
    return before is None or before == after


@given(PODS, st.sampled_from(AdmissionMode), st.booleans())
def test_the_patch_only_adds_and_once_is_enough(pod: dict[str, Any], mode: AdmissionMode, annotate: bool) -> None:  # noqa: FBT001
    once, decision, answered = decided(pod, mode, annotate=annotate)
    assert {each["op"] for each in patch_in(answered)} <= {"add"}
    assert survives(pod, once)
    if mode is AdmissionMode.OBSERVE or decision.outcome is DecisionOutcome.SKIP:
        assert once == pod
    assert patch_in(decided(once, mode, annotate=annotate)[2]) == []


def runs_on(image: str | None, architectures: Collection[Architecture]) -> bool:
    """Whether an image is known to support each of the architectures."""
    answer = IMAGES.get(image or "")
    judgements = answer if isinstance(answer, tuple) else ()
    supported = {each.architecture for each in judgements if each.verdict is Verdict.SUPPORTED}
    return supported.issuperset(architectures)


@given(PODS, st.sampled_from([AdmissionMode.TOLERATE, AdmissionMode.PREFER, AdmissionMode.PIN]))
def test_a_patched_pod_goes_where_was_decided_and_not_elsewhere(pod: dict[str, Any], mode: AdmissionMode) -> None:
    after, decision, _ = decided(pod, mode, annotate=False)
    spec = Value(after["spec"], ObjectReference(1))
    tolerated = find_untolerated(read_tolerations(spec["tolerations"]), map(parse_taint, TAINTS)) is None
    allowed = list_allowed_architectures(pod["spec"])
    if decision.outcome is DecisionOutcome.TOLERATE:
        assert tolerated
        assert Architecture.ARM64 in allowed == list_allowed_architectures(after["spec"])
        assert all(runs_on(each.image, allowed) for each in list_pod_spec_uses(pod["spec"], KEY))
    elif decision.pinned:
        assert list_allowed_architectures(after["spec"]) == {Architecture(decision.pinned)}
        assert tolerated or decision.pinned == "amd64"
        assert allowed == set(Architecture)
    else:
        if decision.outcome is DecisionOutcome.LEAVE:
            assert not all(runs_on(each.image, allowed) for each in list_pod_spec_uses(pod["spec"], KEY))
        assert after == pod


@given(PODS, st.lists(st.sampled_from(AdmissionMode), min_size=2, max_size=4))
def test_what_is_remembered_is_decided_like_what_is_new(pod: dict[str, Any], modes: list[AdmissionMode]) -> None:
    def handler() -> Handler:
        return Handler(WebhookConfiguration(annotate=True), StandInImages(IMAGES), RecordingObserver())

    remembering, body = handler(), review_of(pod)
    for mode in modes:
        assert answer_at_once(remembering, body, mode) == answer_at_once(handler(), body, mode)


@given(
    an_object({"containers": CONTAINERS}, initContainers=CONTAINERS, ephemeralContainers=CONTAINERS, volumes=VOLUMES)
)
def test_the_same_images_are_read_as_in_audits(spec: dict[str, Any]) -> None:
    written = msgspec.json.decode(json.dumps({"spec": spec}), type=WrittenPod)
    pod = read_pod(written, "shop", frozenset())
    uses = list(list_pod_spec_uses(spec, KEY))
    expected = [PodImage(each.image, each.role is ContainerRole.VOLUME) for each in uses if each.image]
    assert list(pod.images) == list(dict.fromkeys(expected))
    assert pod.without_image == sum(not each.image for each in uses)


def test_each_field_that_decides_makes_another_key() -> None:
    """Pods with one key get one remembered answer."""
    image = [{"name": "a", "image": "registry.example.com/app:1"}]
    specs: list[dict[str, Any]] = [
        {},
        {"initContainers": image},
        {"containers": image},
        {"ephemeralContainers": image},
        {"volumes": [{"name": "a", "image": {"reference": "registry.example.com/app:1"}}]},
        {"nodeName": "node-1"},
        {"tolerations": [{"operator": "Exists"}]},
        {"nodeSelector": {"a": "b"}},
        {"affinity": {"nodeAffinity": {}}},
        {"os": {"name": "linux"}},
        {"imagePullSecrets": [{"name": "a"}]},
    ]
    assert len(specs) == 1 + len(msgspec.structs.fields(_Spec))
    keys = {get_pod_key(msgspec.json.decode(json.dumps({"spec": each}), type=WrittenPod), "default") for each in specs}
    assert len(keys) == len(specs)
