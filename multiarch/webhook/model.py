"""A pod as the webhook reads it, what was found out about its images, and the decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from multiarch.facts.admission import AdmissionMode
from multiarch.images.model import Judgement


class DecisionOutcome(StrEnum):
    """The decision about a pod."""

    TOLERATE = "tolerate"
    """Every image supports every required architecture that the pod's own rules leave open."""
    LEAVE = "leave"
    """At least one image does not."""
    UNKNOWN = "unknown"
    """At least one image could not be read, and none is known to lack an architecture: left alone."""
    SKIP = "skip"
    """The pod itself, or the request, says that there is nothing to decide."""


class DecisionReason(StrEnum):
    """Why: a value of the metrics' label ``reason``, so this list is closed."""

    SUPPORTED = "supported"
    UNSUPPORTED_IMAGE = "unsupported-image"
    UNREADABLE_IMAGE = "unreadable-image"
    """The registry rejected, failed, or has something that is not an image."""
    DEADLINE = "deadline"
    REGISTRY_NOT_ALLOWED = "registry-not-allowed"
    """By ``registries.allowed``, or because its address is not public."""
    TOO_MANY_IMAGES = "too-many-images"
    TOO_MANY_LOOKUPS = "too-many-lookups"
    OPTED_OUT = "opted-out"
    TOLERATES_ALREADY = "tolerates-already"
    EXCLUDED = "excluded"
    """The pod's own rules (nodeSelector, affinity, os) keep it off the nodes with the taints."""
    SCHEDULED_BY_NAME = "scheduled-by-name"
    """``nodeName``, or a node affinity for one node's name, as the DaemonSet controller writes it."""
    NO_CONTAINERS = "no-containers"
    INVALID_POD = "invalid-pod"
    NOT_A_POD = "not-a-pod"
    """Another kind, subresource or operation."""
    INVALID_MODE = "invalid-mode"
    """The namespace's label has a value that is not a mode, or the pod's annotation one that is not ``off``."""


class PodImage(NamedTuple):
    """An image as a pod writes it. One that is mounted as a volume only has to be pulled, not run."""

    image: str
    mounted: bool = False


@dataclass(frozen=True, slots=True)
class NotFound:
    """An image could not be read. ``reason`` is one of those about images; ``text`` is a clause without a full stop."""

    reason: DecisionReason
    text: str


Answer = tuple[Judgement, ...] | NotFound
"""What was found out about an image: a judgement for each required architecture in their order, or why not."""


class PullSecretNames(NamedTuple):
    """The pull secrets that a pod names, in its order; empty where the webhook may not read them."""

    namespace: str
    names: tuple[str, ...]


NO_SECRETS = PullSecretNames("", ())


class Images(Protocol):
    """What is known, or can be found out, about images. For one event loop; no method raises."""

    def known(self, image: PodImage, secrets: PullSecretNames = NO_SECRETS) -> Answer | None:
        """Return what is remembered, also a recent failure; None if the image has to be looked up. Never waits.

        A tag that is no longer fresh is answered from memory, and looked up again in the background.
        """
        ...

    async def look_up(
        self, images: Collection[PodImage], secrets: PullSecretNames = NO_SECRETS, *, seconds: float
    ) -> Mapping[PodImage, Answer]:
        """Look all images up side by side, at most for ``seconds``; what took longer is ``NotFound`` with DEADLINE.

        A look-up that outlives the deadline goes on and is remembered; one that is under way is shared, and one that
        is under way for longer than ``seconds`` already is not waited for.
        """
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one pod.

    ``text`` says why in one sentence without its full stop; it names images, and holds no secret. ``patch`` is a JSON
    Patch (RFC 6902, only ``add``), serialised; empty where nothing changes, and always in mode ``observe``.
    ``images`` are the images that decided: those that do not support an architecture, or could not be read.
    ``warnings`` are for kubectl to show, each of at most 120 characters.
    """

    outcome: DecisionOutcome
    reason: DecisionReason
    text: str
    patch: bytes = b""
    images: tuple[str, ...] = ()
    pinned: str = ""
    """The architecture that the patch requires, in mode ``pin``."""
    warnings: tuple[str, ...] = ()


class Request(NamedTuple):
    """What a decision was about, for logs and metrics. No part of the pod's specification.

    ``name`` is the pod's, or its ``generateName`` with ``*`` behind it; ``owner`` is ``Kind/name`` of its controller.
    """

    uid: str
    namespace: str
    name: str
    owner: str
    mode: AdmissionMode
    dry_run: bool


class Observer(Protocol):
    """Told of every decision: metrics and logs. Called in the event loop once the answer is made; never raises."""

    def decided(self, request: Request, decision: Decision, seconds: float) -> None:
        """Record a decision; ``seconds`` is the time from the whole body to the answer."""
        ...

    def failed(self, reason: str, text: str) -> None:
        """Record a request that is not an AdmissionReview, or a failed review; ``reason`` is from a closed list."""
        ...
