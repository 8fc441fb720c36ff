"""One review and what came of it, and what pods say about their nodes."""

from __future__ import annotations

import json
from typing import Any

from multiarch.facts.admission import AdmissionMode
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import Decision, DecisionOutcome, DecisionReason
from tests.webhook.stand_ins import (
    IMAGES,
    RecordingObserver,
    StandInImages,
    answer_at_once,
    patch_in,
    patched,
    response_in,
    review_of,
)

ARM = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
"""The toleration of the taint that is the default."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Decided:
    """A review of a pod with :data:`IMAGES`, and what came of it: no failure, and a patch only as decided."""

    def __init__(self, whole: dict[str, Any], mode: AdmissionMode | None = None, /, **configuration: Any) -> None:
        observer, self.images = RecordingObserver(), StandInImages(IMAGES)
        handler = Handler(WebhookConfiguration(**configuration), self.images, observer)
        answered = answer_at_once(handler, review_of(whole), mode)
        assert observer.failures == []
        self.decision: Decision = observer.last
        self.response = response_in(answered)
        self.patch = patch_in(answered)
        assert self.response["allowed"] is True
        assert (json.loads(self.decision.patch) if self.decision.patch else []) == self.patch
        self.pod = patched(whole, answered)

    @property
    def outcome(self) -> tuple[DecisionOutcome, DecisionReason]:
        return self.decision.outcome, self.decision.reason


def requiring(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}}}


def among(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def requires(architecture: str) -> dict[str, Any]:
    return among("kubernetes.io/arch", architecture)
