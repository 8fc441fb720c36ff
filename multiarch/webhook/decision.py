"""The decision about a pod: from what it says itself, then from what its images support. Pure.

- A verdict ``unknown`` of an image that could be read (its config names no architecture, it needs newer processors, it
  is an artifact) counts like an image that could not be read: nothing is known to be missing, so the pod is UNKNOWN.
- What counts are the required architectures that the pod's own rules leave open. A pod that can't be on the nodes with
  the taints is left alone before anything else is looked at. One that can be nowhere else, because it requires arm64
  itself, is tolerated if its images support arm64: without the toleration it would stay Pending.
- A pod that tolerates the taints already is left alone, with three exceptions. In mode ``prefer`` it may still get the
  preference. In mode ``pin`` it may still be pinned: tolerations let it onto nodes of every architecture, and ``pin``
  is there to keep it off those that it can't run on. And where the annotation says that the webhook added the
  tolerations itself (``reinvocationPolicy: IfNeeded``), the images are checked again, because another webhook may have
  added a sidecar since. What was added can't be taken back: in mode ``pin`` such a pod is pinned, in the other modes
  it is reported as LEAVE.
- Mode ``prefer`` adds no preference to a pod that prefers an architecture itself, whichever it is, or that can be on
  nodes of one architecture only; and none for arm64 where the images need not support it.
- Mode ``pin`` requires the architecture that all readable images support, if all others are known to be lacking in some
  image. An image that could not be read does not change where the others can't run. With one architecture that counts,
  there is nothing to choose from, so nothing is pinned. A pod that is pinned to arm64 gets the tolerations too: without
  them no tainted node takes it.
- Mode ``observe`` decides as the configuration's mode does, or like ``tolerate`` if that is ``observe``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from multiarch.escaping import escape_terminal
from multiarch.facts.admission import (
    DECISION_ANNOTATION,
    OFF,
    OPT_OUT_ANNOTATION,
    AdmissionMode,
    get_tainted_architecture,
)
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.images.model import Verdict
from multiarch.manifests.selectors import ARCHITECTURE_LABELS
from multiarch.patching.patches import build_json_patch
from multiarch.patching.transform import SchedulingChange, transform_pod_spec
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.model import Answer, Decision, DecisionOutcome, DecisionReason, NotFound
from multiarch.webhook.pod import AdmittedPod
from multiarch.yaml_text.additions import Addition

_PREFERRED = Architecture.ARM64
"""Whose nodes are preferred in mode ``prefer``."""
_NAMED = 3
_LONGEST_VALUE = 30
_LONGEST_NAME = 200
_LONGEST_REASON = 300
_LONGEST_TEXT = 500
_LONGEST_WARNING = 120
"""Characters that Kubernetes recommends at most. The API server itself drops what is more than 4,096 in all.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response
"""


class _Fault(NamedTuple):
    """What is the matter with one image; ``reason`` may be empty."""

    image: str
    summary: str
    reason: str
    kind: DecisionReason


class Decider:
    """Decides about pods of namespaces with one mode, as one configuration says."""

    def __init__(self, configuration: WebhookConfiguration, mode: AdmissionMode) -> None:
        """Read what the decisions need. Raises TaintSyntaxError for a taint that Kubernetes rejects."""
        self._observes = mode is AdmissionMode.OBSERVE
        own = AdmissionMode(configuration.mode) if self._observes else mode
        self._mode = AdmissionMode.TOLERATE if own is AdmissionMode.OBSERVE else own
        """The mode whose decisions are made."""
        self._architectures = tuple(dict.fromkeys(map(Architecture, configuration.architectures)))
        self._tainted = get_tainted_architecture(configuration.architectures)
        self._taints = tuple(parse_taint(each) for each in configuration.taints)
        self._weight = configuration.preferred_weight
        self._annotate = configuration.annotate
        self._warn = configuration.warnings
        self._most_images = configuration.limits.images

    def without_images(self, pod: AdmittedPod) -> Decision | None:
        """Decide by what the pod says itself; None if its images have to be known."""
        if skipped := self._by_own_rules(pod):
            return skipped
        if self._mode is not AdmissionMode.PIN and self._has_all(pod) and not _tolerates_by_webhook(pod):
            return self._tolerates_already()
        if not pod.containers:
            return skip_pod(DecisionReason.NO_CONTAINERS, "the pod has no containers")
        if len(pod.images) > self._most_images:
            text = f"the pod has {len(pod.images)} images, more than limits.images, which is {self._most_images}"
            warnings = _warn_of(text) if self._warn else ()
            decision = Decision(DecisionOutcome.UNKNOWN, DecisionReason.TOO_MANY_IMAGES, text, warnings=warnings)
            return self._with_patch(decision, pod)
        return None

    def with_images(self, pod: AdmittedPod, answers: Sequence[Answer]) -> Decision:
        """Decide by ``answers``, which are those about ``pod.images`` in their order."""
        if lacking := self._lacking(pod, answers):
            return self._leave(pod, answers, lacking)
        if unknown := self._unknown(pod, answers):
            decision = Decision(DecisionOutcome.UNKNOWN, unknown[0].kind, _joined(unknown))
            decision = replace(decision, images=_named(unknown), warnings=self._warnings(unknown))
            return self._with_patch(decision, pod)
        if self._has_all(pod):
            return self._tolerates_already()
        count = len(pod.images)
        images = "its image supports" if count == 1 else f"all {count} images support"
        text = f"{images} {' and '.join(self._open(pod))}"
        prefer = _PREFERRED if self._prefers(pod) else None
        change = SchedulingChange(prefer=prefer, tolerate=self._taints, weight=self._weight)
        return self._with_patch(Decision(DecisionOutcome.TOLERATE, DecisionReason.SUPPORTED, text), pod, change)

    def _warnings(self, faults: Sequence[_Fault]) -> tuple[str, ...]:
        """Return one warning for each image that kept the pod from tolerating."""
        return tuple(dict.fromkeys(map(_warning, faults))) if self._warn else ()

    def _by_own_rules(self, pod: AdmittedPod) -> Decision | None:
        if pod.opt_out == OFF:
            return skip_pod(DecisionReason.OPTED_OUT, f"the annotation {OPT_OUT_ANNOTATION} is {OFF}")
        if pod.opt_out is not None:
            # Whoever wrote "Off" or "false" did not want the toleration.
            found = cut_string(pod.opt_out, _LONGEST_VALUE)
            return skip_invalid_mode(f"annotation {OPT_OUT_ANNOTATION} must be {OFF}, not {found!r}: left alone")
        if pod.scheduled_by_name:
            return skip_pod(DecisionReason.SCHEDULED_BY_NAME, pod.scheduled_by_name)
        for each in pod.excluded:
            if each.architecture is self._tainted:
                return skip_pod(DecisionReason.EXCLUDED, f"the pod can't use {each.architecture} nodes: {each.reason}")
        return None

    def _has_all(self, pod: AdmittedPod) -> bool:
        """Return whether nothing would be added to a pod whose images support every architecture."""
        return self._tolerates(pod) and not self._prefers(pod)

    def _prefers(self, pod: AdmittedPod) -> bool:
        """Return whether a preference can be added: the pod has none for an architecture, and has the choice."""
        if self._mode is not AdmissionMode.PREFER or pod.excluded or self._tainted is not _PREFERRED:
            return False
        preferred = (expression.key for each in pod.affinity.preferred for expression in each.term.expressions)
        return not any(key in ARCHITECTURE_LABELS for key in preferred)

    def _open(self, pod: AdmittedPod) -> Sequence[Architecture]:
        """Return the architectures that count."""
        excluded = {each.architecture for each in pod.excluded}
        return [each for each in self._architectures if each not in excluded]

    def _tolerates(self, pod: AdmittedPod) -> bool:
        return all(any(each.tolerates(taint) for each in pod.tolerations) for taint in self._taints)

    def _tolerates_already(self) -> Decision:
        return skip_pod(
            DecisionReason.TOLERATES_ALREADY, f"the pod tolerates {', '.join(map(str, self._taints))} already"
        )

    def _leave(self, pod: AdmittedPod, answers: Sequence[Answer], lacking: list[_Fault]) -> Decision:
        text, change, pinned = _joined(lacking), None, None
        possible = [each for each in self._open(pod) if not _lacks(answers, each)]
        if not possible and pod.excluded:
            text = f"no node that the pod allows can run all images: {text}"
        elif not possible and len(self._architectures) > 1:
            text = f"no {' or '.join(self._architectures)} node can run all images: {text}"
        if self._mode is AdmissionMode.PIN and len(possible) == 1 and _supports(answers, possible[0]):
            pinned = possible[0]
            change = SchedulingChange(require=pinned, tolerate=self._taints if pinned is self._tainted else ())
            text += f"; requires {pinned}"
        elif self._tolerates(pod):
            text += f"; the pod tolerates {', '.join(map(str, self._taints))} all the same"
        decision = Decision(
            DecisionOutcome.LEAVE,
            DecisionReason.UNSUPPORTED_IMAGE,
            text,
            images=_named(lacking),
            pinned=pinned or "",
            warnings=self._warnings(lacking),
        )
        return self._with_patch(decision, pod, change)

    def _with_patch(self, decision: Decision, pod: AdmittedPod, change: SchedulingChange | None = None) -> Decision:
        if self._observes:
            return decision
        operations = (
            [] if change is None else build_json_patch(transform_pod_spec(pod.spec, change).additions, ("spec",))
        )
        if self._annotate and pod.decided is None:
            operations += build_json_patch([_annotation(pod, f"{decision.outcome}: {decision.text}")])
        return replace(decision, patch=msgspec.json.encode(operations)) if operations else decision

    def _lacking(self, pod: AdmittedPod, answers: Sequence[Answer]) -> list[_Fault]:
        return list(self._with_verdict(pod, answers, Verdict.UNSUPPORTED, "does not support"))

    def _unknown(self, pod: AdmittedPod, answers: Sequence[Answer]) -> list[_Fault]:
        found: list[_Fault] = []
        if pod.without_image:
            found.append(_Fault("", "a container or image volume names no image", "", DecisionReason.UNREADABLE_IMAGE))
        for image, each in zip(pod.images, answers, strict=False):
            if isinstance(each, NotFound):
                found.append(_Fault(image.image, "could not be read", each.text, each.reason))
        return [*found, *self._with_verdict(pod, answers, Verdict.UNKNOWN, "may not support")]

    def _with_verdict(
        self, pod: AdmittedPod, answers: Sequence[Answer], verdict: Verdict, verb: str
    ) -> Iterator[_Fault]:
        kind = DecisionReason.UNSUPPORTED_IMAGE if verdict is Verdict.UNSUPPORTED else DecisionReason.UNREADABLE_IMAGE
        counting = self._open(pod)
        for image, each in zip(pod.images, answers, strict=False):
            judgements = () if isinstance(each, NotFound) else each
            about = [one for one in judgements if one.verdict is verdict and one.architecture in counting]
            if about:
                architectures = " or ".join(one.architecture for one in about)
                yield _Fault(image.image, f"{verb} {architectures}", about[0].reason, kind)


def skip_pod(reason: DecisionReason, text: str) -> Decision:
    """Return the decision that there is nothing to decide; ``text`` may be from the pod, and is cut if it is long."""
    return Decision(DecisionOutcome.SKIP, reason, cut_string(text, _LONGEST_TEXT))


def skip_invalid_mode(text: str) -> Decision:
    """Return the decision about a pod whose annotation, or whose namespace's label, is wrong; it always warns."""
    return replace(skip_pod(DecisionReason.INVALID_MODE, text), warnings=_warn_of(text))


def cut_string(text: str, longest: int) -> str:
    """Return text without unprintable characters and of at most ``longest`` characters."""
    text = escape_terminal(text[: longest + 1])
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _annotation(pod: AdmittedPod, text: str) -> Addition:
    """Add the annotation, with the mappings around it that the pod lacks."""
    path = ("metadata", "annotations", DECISION_ANNOTATION)
    first = len(pod.annotations_at)
    value: object = text
    for name in reversed(path[first + 1 :]):
        value = {name: value}
    return Addition(path[: first + 1], value)


def _tolerates_by_webhook(pod: AdmittedPod) -> bool:
    return pod.decided is not None and pod.decided.startswith(DecisionOutcome.TOLERATE)


def _lacks(answers: Sequence[Answer], architecture: Architecture) -> bool:
    return any(verdict is Verdict.UNSUPPORTED for verdict in _verdicts(answers, architecture))


def _supports(answers: Sequence[Answer], architecture: Architecture) -> bool:
    return all(verdict is Verdict.SUPPORTED for verdict in _verdicts(answers, architecture))


def _verdicts(answers: Sequence[Answer], architecture: Architecture) -> Iterator[Verdict]:
    for each in answers:
        if not isinstance(each, NotFound):
            yield from (one.verdict for one in each if one.architecture is architecture)


def _named(faults: Sequence[_Fault]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cut_string(each.image, _LONGEST_NAME) for each in faults if each.image))


def _joined(faults: Sequence[_Fault]) -> str:
    """Return ``registry.example/api:1 does not support arm64: single manifest for linux/amd64; …``."""
    parts = []
    for each in faults[:_NAMED]:
        head = f"{cut_string(each.image, _LONGEST_NAME)} {each.summary}".lstrip()
        parts.append(f"{head}: {cut_string(each.reason, _LONGEST_REASON).rstrip('.')}" if each.reason else head)
    more = len(faults) - _NAMED
    if more > 0:
        parts.append(f"and {more} more {'image' if more == 1 else 'images'}")
    return "; ".join(parts)


def _warn_of(text: str) -> tuple[str, ...]:
    return (cut_string(text, _LONGEST_WARNING),)


def _warning(fault: _Fault) -> str:
    """Return a warning whose image loses its beginning, which says least, if there is no room for all."""
    name, room = escape_terminal(fault.image[-_LONGEST_WARNING:]), _LONGEST_WARNING - len(fault.summary) - 1
    shown = name if len(name) <= room else f"...{name[len(name) - room + 3 :]}"
    return f"{shown} {fault.summary}".lstrip()
