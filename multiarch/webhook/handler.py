"""From the bytes of an AdmissionReview to the bytes of the answer. A pod is always allowed.

What a pod says itself, what is decided for its images' answers, and the answer's bytes are remembered by what the pod
says (:func:`multiarch.webhook.pod.get_pod_key`): answers to the replicas of a Deployment differ only in their uid.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from time import perf_counter

from cachetools import LRUCache

from multiarch.facts.admission import MODE_LABEL, OFF, AdmissionMode
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.decision import Decider, cut_string, skip_invalid_mode, skip_pod
from multiarch.webhook.model import Answer, Decision, DecisionReason, Images, Observer, Request
from multiarch.webhook.pod import AdmittedPod, InvalidPodError, PodKey, WrittenPod, get_pod_key, read_pod
from multiarch.webhook.review import FailureReason, Review, ReviewError, build_answer, build_response, read_review

_REMEMBERED = 2048
"""Pods with different rules or images."""
_LONGEST_REMEMBERED = 1024
"""Bytes of a pod's rules on nodes and images; others are read again. In memory, they take 16 times as much."""
_LONGEST_VALUE = 512
INVALID = "invalid"
"""In place of the mode of a namespace whose label is not a mode: nothing changes, and a warning says so."""
_INVALID_MODE = f"label {MODE_LABEL} of the namespace must be {', '.join(AdmissionMode)} or {OFF}"


@dataclass(frozen=True, slots=True)
class _Decided:
    """A decision, and all of its answer but the uid."""

    decision: Decision
    written: bytes


@dataclass(slots=True)
class _Open:
    """A pod whose images decide; ``decided`` holds for ``answers``, the latest ones."""

    pod: AdmittedPod
    answers: Sequence[Answer] | None = None
    decided: _Decided | None = None


class Handler:
    """Answers reviews, for one event loop. It closes neither ``images`` nor ``observers``."""

    def __init__(self, configuration: WebhookConfiguration, images: Images, *observers: Observer) -> None:
        """Read the configuration. Raises TaintSyntaxError for a taint that Kubernetes rejects."""
        self._mode = AdmissionMode(configuration.mode)
        self._deadline = configuration.deadline_seconds
        self._readable_secrets = frozenset(configuration.registries.pull_secrets)
        self._deciders = {mode: Decider(configuration, mode) for mode in AdmissionMode}
        self._images = images
        self._observers = observers
        self._remembered: LRUCache[tuple[AdmissionMode, PodKey], _Decided | _Open] = LRUCache(_REMEMBERED)

    async def review(self, body: bytes, mode: str = "") -> bytes:
        """Answer before the deadline, which begins with this call; without waiting if all images are known.

        ``mode`` is that of the namespace: empty for the configuration's, or INVALID. Raises ReviewError for what is not
        a review; the observers are told of it.
        """
        began = perf_counter()
        review = self._read(body)
        acting = self._mode if mode in ("", INVALID) else AdmissionMode(mode)
        try:
            if mode == INVALID and not review.other:
                decided = _written(skip_invalid_mode(_INVALID_MODE))
            else:
                decided = await self._decide(review, acting, began)
            return self._answer(review, acting, decided, began)
        except Exception as error:  # noqa: BLE001 (a fault in here must not keep pods from being created)
            return self._allow(review, error)

    def failed(self, reason: str, text: str) -> None:
        """Tell the observers of a request that is not a review, or of a review that failed."""
        for each in self._observers:
            each.failed(reason, text)

    def _read(self, body: bytes) -> Review:
        try:
            return read_review(body)
        except ReviewError as error:
            self.failed(error.reason, error.message)
            raise

    async def _decide(self, review: Review, mode: AdmissionMode, began: float) -> _Decided:
        if review.other:
            return _written(skip_pod(DecisionReason.NOT_A_POD, review.other))
        if review.pod is None:
            return _written(skip_pod(DecisionReason.INVALID_POD, "the request has no object"))
        key = mode, get_pod_key(review.pod, review.namespace)
        found = self._remembered.get(key)
        if found is None:
            found = self._prepare(review.pod, review.namespace, mode)
            if _length(key[1]) <= _LONGEST_REMEMBERED:
                self._remembered[key] = found
        if isinstance(found, _Decided):
            return found
        pod, known = found.pod, self._images.known
        answers = [each for image in pod.images if (each := known(image, pod.secrets)) is not None]
        if len(answers) < len(pod.images):
            answers = await self._look_up(pod, began)
        # What is remembered is answered with the same objects, so that comparing them takes no time.
        if found.decided is None or found.answers != answers:
            found.decided, found.answers = _written(self._deciders[mode].with_images(pod, answers)), answers
        return found.decided

    def _prepare(self, written: WrittenPod, namespace: str, mode: AdmissionMode) -> _Decided | _Open:
        """Decide by what a pod says itself, if that suffices."""
        try:
            pod = read_pod(written, namespace, self._readable_secrets)
        except InvalidPodError as error:
            return _written(skip_pod(DecisionReason.INVALID_POD, error.message))
        decision = self._deciders[mode].without_images(pod)
        return _Open(pod) if decision is None else _written(decision)

    async def _look_up(self, pod: AdmittedPod, began: float) -> list[Answer]:
        left = max(0.0, self._deadline - (perf_counter() - began))
        found = await self._images.look_up(pod.images, pod.secrets, seconds=left)
        return [found[image] for image in pod.images]

    def _answer(self, review: Review, mode: AdmissionMode, decided: _Decided, began: float) -> bytes:
        written = build_answer(review.uid, decided.written)
        pod = review.pod
        name, owner = ("", "") if pod is None else (pod.name, pod.owner)
        request = Request(review.uid, review.namespace, name, owner, mode, review.dry_run)
        seconds = perf_counter() - began
        for each in self._observers:
            each.decided(request, decided.decision, seconds)
        return written

    def _allow(self, review: Review, error: Exception) -> bytes:
        """Allow a pod as it is. The observers get the place of the error; its text could have parts of the pod."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__} in {PurePath(frame.filename).name}, line {frame.lineno}"
        self.failed(FailureReason.INTERNAL, text)
        return build_answer(review.uid, build_response())


def _written(decision: Decision) -> _Decided:
    reason = cut_string(f"{decision.reason}: {decision.text}", _LONGEST_VALUE)
    audit = {"decision": str(decision.outcome), "reason": reason}
    return _Decided(decision, build_response(decision.patch, audit, decision.warnings))


def _length(key: PodKey) -> int:
    """Return the bytes of a pod's rules and images."""
    parts = [part for each in key for part in (each if isinstance(each, tuple) else (each,))]
    return sum(len(part) for part in parts if isinstance(part, str | bytes))
