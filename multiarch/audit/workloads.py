"""What keeps each workload from arm64 nodes, and the next step that gets it there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from multiarch.audit.subjects import ARM, ArchitecturePreference, PodConstraints, Subject
from multiarch.errors import MultiarchError
from multiarch.facts.taints import Taint
from multiarch.images.model import Judgement, Verdict
from multiarch.kubernetes.resources import DAEMON_SETS, JOBS, PODS
from multiarch.manifests.owners import WorkloadKey
from multiarch.observed.verdicts import NO_IMAGE, ImageVerdicts, Newest
from multiarch.observed.workloads import ImageUse
from multiarch.patching.patches import Json, build_strategic_merge_patch
from multiarch.patching.transform import SchedulingChange, explain_feature_flags

SYSTEM_NAMESPACE = "kube-system"
_FIXED = (JOBS.kind, PODS.kind)
"""What can't be given a toleration that counts, once it is in a cluster."""
_NOT_LOOKED_UP = Newest(None, "no other tags were looked up")


class WorkloadState(StrEnum):
    """Whether a workload is ready for arm64 nodes."""

    READY = "ready"
    BLOCKED = "blocked"
    THERE = "already there"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ImageBlocker:
    """An image without an arm64 build. ``containers`` use it; ``newest`` is the tag that has one, if any."""

    image: str
    reason: str
    containers: tuple[str, ...]
    newest: Newest

    @property
    def step(self) -> str:
        """What to do about it."""
        if self.newest.image is not None:
            return f"use {self.newest.image} instead of {self.image}: it supports arm64 ({self.newest.why})"
        return f"build {self.image} for arm64 ({self.newest.why})"


@dataclass(frozen=True, slots=True)
class Patch:
    """What gives a ready workload its toleration. ``body`` is ``None`` where no patch can, ``why`` then says why.

    ``written`` is the object itself.
    """

    body: Json | None
    why: str = ""
    written: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """One workload. ``affinity`` says what excludes arm64, ``doubts`` what is not known; clauses without full stops."""

    subject: Subject
    images: tuple[ImageBlocker, ...]
    affinity: tuple[str, ...]
    doubts: tuple[str, ...]
    tolerates: bool
    preference: ArchitecturePreference
    notes: tuple[str, ...]
    patch: Patch | None

    @property
    def workload(self) -> WorkloadKey:
        """What it is called."""
        return self.subject.workload

    @property
    def state(self) -> WorkloadState:
        """Known blockers count before what is unknown."""
        if self.images or self.affinity:
            return WorkloadState.BLOCKED
        if self.doubts:
            return WorkloadState.UNKNOWN
        return WorkloadState.THERE if self.tolerates else WorkloadState.READY

    @property
    def blockers(self) -> tuple[str, ...]:
        """What blocks it: ``image shop/api:1``, ``affinity: nodeSelector requires …``."""
        return (*(f"image {each.image}" for each in self.images), *(f"affinity: {each}" for each in self.affinity))

    def steps(self, taint: Taint | None) -> tuple[str, ...]:
        """Return what to do next, in this order; empty if there is nothing to do."""
        steps = [each.step for each in self.images]
        steps += [f"change what excludes arm64: {each}" for each in self.affinity]
        steps += [f"check: {each}" for each in self.doubts]
        if self.state is WorkloadState.READY:
            steps.append(f"add the toleration of {taint}")
        if self.state is WorkloadState.THERE and self.preference is ArchitecturePreference.PREFERS_AMD64:
            steps.append("prefer arm64: it prefers amd64 now")
        return tuple(steps)


@dataclass(frozen=True, slots=True)
class WorkloadAudit:
    """All workloads, sorted. ``taint`` is that of arm64 nodes; ``omitted`` counts the system's DaemonSets."""

    taint: Taint | None
    rows: tuple[WorkloadRow, ...]
    omitted: int

    def why_not_on_arm64(self) -> dict[WorkloadKey, tuple[str, ...]]:
        """Return what keeps each workload off arm64 nodes, in clauses; nothing where it can run on them already."""
        found = {}
        for row in self.rows:
            toleration = (f"does not tolerate {self.taint}",) if row.state is WorkloadState.READY else ()
            doubts = tuple(f"unknown: {each}" for each in row.doubts) if row.state is WorkloadState.UNKNOWN else ()
            found[row.workload] = (*row.blockers, *doubts, *toleration)
        return found

    def count(self, state: WorkloadState) -> int:
        """Return how many workloads are in this state."""
        return sum(row.state is state for row in self.rows)

    def has(self, state: str) -> bool:
        """Return whether any workload is in the state of this name."""
        return any(row.state == state for row in self.rows)

    def pods(self, *states: WorkloadState) -> int:
        """Return how many pods the workloads of these states have."""
        return sum(row.subject.pods for row in self.rows if row.state in states)


def is_system(workload: WorkloadKey) -> bool:
    """Return whether it is a DaemonSet of the system: those have to run on every node, and have their own audit."""
    return workload.kind == DAEMON_SETS.kind and workload.namespace == SYSTEM_NAMESPACE


def audit_workloads(
    subjects: Iterable[Subject], images: ImageVerdicts, newest: Mapping[str, Newest], taint: Taint | None
) -> WorkloadAudit:
    """Judge every workload.

    ``taint`` is what arm64 nodes have, and the one that the subjects were gathered with; ``images`` has all their
    images, and ``newest`` the tags to use instead of those without arm64, as far as they were looked up.
    """
    every = list(subjects)
    meant = [each for each in every if not is_system(each.workload)]
    judged = {asked: row.judged(ARM) for asked, row in images.by_use().items()}
    rows = [_row(each, judged, newest, taint) for each in meant]
    return WorkloadAudit(taint, tuple(rows), len(every) - len(meant))


def _row(
    subject: Subject,
    judged: Mapping[tuple[str, str, bool], Judgement],
    newest: Mapping[str, Newest],
    taint: Taint | None,
) -> WorkloadRow:
    by_image: dict[tuple[str, Judgement], list[ImageUse]] = {}
    for use in subject.uses:
        by_image.setdefault((use.image or NO_IMAGE, judged[use.question]), []).append(use)
    ordered = sorted(by_image, key=lambda each: (each[0], each[1].reason))
    found = [(image, judgement, by_image[image, judgement]) for image, judgement in ordered]
    blockers = tuple(
        ImageBlocker(image, judgement.reason, _containers(uses), newest.get(image, _NOT_LOOKED_UP))
        for image, judgement, uses in found
        if judgement.verdict is Verdict.UNSUPPORTED
    )
    unread = [
        f"image {image}: {judgement.reason.rstrip('.')}"
        for image, judgement, _ in found
        if judgement.verdict is Verdict.UNKNOWN
    ]
    said = subject.templates or subject.running
    faults = list(subject.faults)
    if not said and not faults:
        faults.append("its pod template was not found")
    tolerates = _tolerates(subject)
    row = WorkloadRow(
        subject=subject,
        images=blockers,
        affinity=tuple(_excluding(subject)),
        doubts=(*unread, *faults),
        tolerates=tolerates,
        preference=said[0].preference if len({each.preference for each in said}) == 1 else ArchitecturePreference.NONE,
        notes=tuple(_notes(subject, taint, tolerates=tolerates, blocked=bool(blockers))),
        patch=None,
    )
    if row.state is not WorkloadState.READY or taint is None:
        return row
    return replace(row, patch=_patch(subject, taint))


def _containers(uses: Sequence[ImageUse]) -> tuple[str, ...]:
    return tuple(sorted({f"{use.role} {use.container}".rstrip() for use in uses}))


def _tolerates(subject: Subject) -> bool:
    """Whether its pods tolerate the taint: by their template, or because something adds it to every one of them."""
    by_template = bool(subject.templates) and all(each.tolerates for each in subject.templates)
    return by_template or (bool(subject.running) and all(each.tolerates for each in subject.running))


def _excluding(subject: Subject) -> Iterator[str]:
    """Yield what excludes arm64: by the templates, and by pods where that is another thing."""
    written = dict.fromkeys(each.excluded for each in subject.templates if each.excluded)
    yield from written
    for each in dict.fromkeys(each.excluded for each in subject.running if each.excluded):
        if each not in written:
            yield f"its pods: {each}" if subject.templates else each


def _notes(subject: Subject, taint: Taint | None, *, tolerates: bool, blocked: bool) -> Iterator[str]:
    said: tuple[PodConstraints, ...] = (*subject.templates, *subject.running)
    if taint is not None and not tolerates and subject.manifests:
        yield from explain_feature_flags(subject.manifests[0].value.get("apiVersion"), ["tolerations"])
    if taint is not None and tolerates:
        if blocked and not any(each.excluded for each in said):
            yield f"tolerates {taint} already: its pods can be scheduled to arm64 nodes, and fail there"
        if subject.templates and not all(each.tolerates for each in subject.templates):
            yield f"its template does not tolerate {taint}, but its pods do: a webhook adds it, or the pods are older"
        seconds = [each.seconds for each in said if each.seconds is not None]
        if seconds:
            yield f"tolerates {taint} for {min(seconds)} seconds only"


def _patch(subject: Subject, taint: Taint) -> Patch:
    if not subject.manifests:
        return Patch(None, "its own manifest was not found, only objects that it made")
    first = subject.manifests[0]
    if first.source.document is None and subject.workload.kind in _FIXED:
        return Patch(None, f"a {subject.workload.kind} in a cluster can't be changed: recreate it")
    try:
        bodies = [
            build_strategic_merge_patch(each.value, SchedulingChange(tolerate=(taint,))) for each in subject.manifests
        ]
    except MultiarchError as error:
        return Patch(None, error.message.rstrip("."))
    if any(body != bodies[0] for body in bodies):
        return Patch(None, f"its {len(bodies)} manifests differ")
    return Patch(bodies[0], written=first.value)
