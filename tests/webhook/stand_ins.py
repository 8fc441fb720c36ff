"""Stand-ins for what surrounds the handler: images without a registry, and an observer that keeps what it is told."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import (
    NO_SECRETS,
    Answer,
    Decision,
    DecisionReason,
    NotFound,
    PodImage,
    PullSecretNames,
)
from multiarch.webhook.model import Request as DecidedRequest

UID = "0df28fbd-5f5f-11e8-bc74-36e6bb280816"
_REASONS = {
    Verdict.SUPPORTED: "index has linux/{}",
    Verdict.UNSUPPORTED: "index lacks linux/{}",
    Verdict.UNKNOWN: "single manifest, and its config has no architecture",
}


def found(**verdicts: str) -> tuple[Judgement, ...]:
    """The answer about an image, as in ``found(amd64="supported", arm64="unknown")``."""
    return tuple(
        Judgement(Architecture(name), verdict := Verdict(text), _REASONS[verdict].format(name), None)
        for name, text in verdicts.items()
    )


BOTH = found(amd64="supported", arm64="supported")
AMD64_ONLY = found(amd64="supported", arm64="unsupported")
ARM64_ONLY = found(amd64="unsupported", arm64="supported")
UNCLEAR = found(amd64="supported", arm64="unknown")
REJECTED = NotFound(DecisionReason.UNREADABLE_IMAGE, "the registry answered 401 Unauthorized")
LATE = NotFound(DecisionReason.DEADLINE, "the registry did not answer in time")


IMAGES: Mapping[str, Answer] = {
    "both": BOTH,
    "amd": AMD64_ONLY,
    "arm": ARM64_ONLY,
    "unclear": UNCLEAR,
    "rejected": REJECTED,
    "late": LATE,
}
"""Images by name, one of each kind."""


class StandInImages:
    """Images without a registry: answers by the image's name, ``default`` for all others.

    With ``seconds`` an image is known only after a look-up that takes as long; ``hook`` is called at each look-up.
    ``looked_up`` and ``secrets`` have what was requested.
    """

    def __init__(
        self,
        answers: Mapping[str, Answer] | None = None,
        default: Answer = BOTH,
        *,
        seconds: float | None = None,
        hook: Callable[[], None] = lambda: None,
    ) -> None:
        self.answers = dict(answers or {})
        self.default = default
        self.seconds = seconds
        self.hook = hook
        self.remembered: set[PodImage] = set()
        self.asked: list[PodImage] = []
        self.looked_up: list[tuple[PodImage, ...]] = []
        self.secrets: list[PullSecretNames] = []

    def known(self, image: PodImage, secrets: PullSecretNames = NO_SECRETS) -> Answer | None:
        self.asked.append(image)
        self.secrets.append(secrets)
        if self.seconds is not None and image not in self.remembered:
            return None
        return self.answers.get(image.image, self.default)

    async def look_up(
        self, images: Collection[PodImage], secrets: PullSecretNames = NO_SECRETS, *, seconds: float
    ) -> Mapping[PodImage, Answer]:
        self.looked_up.append(tuple(images))
        self.secrets.append(secrets)
        self.hook()
        await asyncio.sleep(min(self.seconds or 0, seconds))
        if (self.seconds or 0) > seconds:
            return dict.fromkeys(images, LATE)
        self.remembered.update(images)
        return {image: self.answers.get(image.image, self.default) for image in images}


class RecordingObserver:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.decisions: list[tuple[DecidedRequest, Decision, float]] = []
        self.failures: list[tuple[str, str]] = []

    def decided(self, request: DecidedRequest, decision: Decision, seconds: float) -> None:
        self.decisions.append((request, decision, seconds))

    def failed(self, reason: str, text: str) -> None:
        self.failures.append((reason, text))

    @property
    def last(self) -> Decision:
        return self.decisions[-1][1]


def answer_at_once(handler: Handler, body: bytes, mode: str | None = None) -> bytes:
    """The answer of a review that waits for nothing."""
    reviewing = handler.review(body, mode or "")
    try:
        reviewing.send(None)
    except StopIteration as ended:
        return cast("bytes", ended.value)
    finally:
        reviewing.close()
    raise AssertionError("the review waits for its images")


def pod(*images: str, **spec: Any) -> dict[str, Any]:
    """A pod of a Deployment with a container for each image, and more of its ``spec``."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "api-6d4cf56db6", "uid": UID, "controller": True}
    metadata = {"generateName": "api-6d4cf56db6-", "namespace": "shop", "ownerReferences": [owner]}
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, "restartPolicy": "Always", **spec},
        "status": {},
    }


def review_of(pod: object, **request: Any) -> bytes:
    """The bytes of an AdmissionReview about the creation of ``pod``, as the API server sends it."""
    whole = {
        "uid": UID,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller", "groups": ["a", "b"]},
        "object": pod,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **request,
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": whole}
    return json.dumps(review, separators=(",", ":")).encode()


def response_in(answered: bytes) -> dict[str, Any]:
    """The response of an AdmissionReview."""
    review = json.loads(answered)
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = review["response"]
    return response


def patch_in(answered: bytes) -> list[dict[str, Any]]:
    """The JSON Patch of an answer, empty if there is none."""
    response = response_in(answered)
    assert ("patch" in response) == (response.get("patchType") == "JSONPatch")
    operations: list[dict[str, Any]] = json.loads(base64.b64decode(response.get("patch", "W10="), validate=True))
    return operations


def patched(pod: dict[str, Any], answered: bytes) -> dict[str, Any]:
    """The pod with the answer's patch applied, as the API server does."""
    import jsonpatch  # noqa: PLC0415 (not all users of this module apply patches)

    result: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(pod), patch_in(answered))
    return result
