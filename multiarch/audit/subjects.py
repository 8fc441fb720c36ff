"""What an audit of workloads judges: each workload with its images, what its pods require of nodes, its manifests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Effect, Taint
from multiarch.kubernetes.source import LoadedObject
from multiarch.manifests.kinds import find_pod_template
from multiarch.manifests.owners import WorkloadKey, find_top_owner, get_owner, get_workload_key
from multiarch.manifests.selectors import ARCHITECTURE_LABELS
from multiarch.manifests.templates import PodSpecPlace, UnknownContainers, find_templates
from multiarch.manifests.values import ManifestError, Value
from multiarch.observed.workloads import ImageUse, Lines, NotRead, find_no_lines, has_ended, list_uses
from multiarch.scheduling.affinity import NodeAffinity, read_node_affinity
from multiarch.scheduling.architectures import explain_exclusion, wrap_pod_spec
from multiarch.scheduling.tolerations import find_untolerated, read_tolerations

ARM = Architecture.ARM64


class ArchitecturePreference(StrEnum):
    """Which of the architectures open to a pod its own rules prefer."""

    REQUIRES_ARM64 = "requires arm64"
    PREFERS_ARM64 = "prefers arm64"
    NONE = "prefers neither"
    PREFERS_AMD64 = "prefers amd64"


@dataclass(frozen=True, slots=True)
class PodConstraints:
    """What one pod spec says about arm64 nodes.

    ``excluded`` is what excludes them, empty where nothing does; ``tolerates`` tells whether their taint is tolerated,
    ``seconds`` for how long a NoExecute taint is, ``None`` without such a bound.
    """

    excluded: str
    tolerates: bool
    preference: ArchitecturePreference
    seconds: int | None = None


def read_constraints(pod_spec: Mapping[str, object] | Value, taint: Taint | None) -> PodConstraints:
    """Read a pod's ``spec``; without a taint there is nothing to tolerate.

    Raises ManifestError for what the API server rejects.
    """
    value = wrap_pod_spec(pod_spec)
    affinity = read_node_affinity(value)
    tolerated = read_tolerations(value["tolerations"])
    seconds = None
    if taint is not None and taint.effect is Effect.NO_EXECUTE:
        limits = [each.seconds for each in tolerated if each.tolerates(taint)]
        known = [each for each in limits if each is not None]
        # The kubelet's controller takes the shortest.
        seconds = min(known, default=None)
    return PodConstraints(
        excluded=explain_exclusion(value, affinity, ARM) or "",
        tolerates=taint is None or find_untolerated(tolerated, (taint,)) is None,
        preference=_preference(value, affinity),
        seconds=seconds,
    )


def _preference(value: Value, affinity: NodeAffinity) -> ArchitecturePreference:
    if explain_exclusion(value, affinity, Architecture.AMD64) is not None:
        return ArchitecturePreference.REQUIRES_ARM64
    arm, amd = (affinity.score(dict.fromkeys(ARCHITECTURE_LABELS, str(each))) for each in (ARM, Architecture.AMD64))
    if arm == amd:
        return ArchitecturePreference.NONE
    return ArchitecturePreference.PREFERS_ARM64 if arm > amd else ArchitecturePreference.PREFERS_AMD64


@dataclass(frozen=True, slots=True)
class Subject:
    """One workload.

    ``templates`` are what its own manifests say, or, if those were not read, what it owns says; ``running`` what
    its pods say. ``manifests`` are its own: one, unless files hold it several times. ``faults`` say what could not be
    read. ``pods`` counts those that are there, or else those that it requests.
    """

    workload: WorkloadKey
    uses: tuple[ImageUse, ...]
    templates: tuple[PodConstraints, ...]
    running: tuple[PodConstraints, ...]
    manifests: tuple[LoadedObject, ...]
    faults: tuple[str, ...]
    pods: int

    @property
    def labels(self) -> Mapping[str, str]:
        """The workload's labels and its pods'."""
        return dict(self.uses[0].labels)


@dataclass(slots=True)
class _Statement:
    """What an object says; without ``found``, what all pods of one owner say."""

    found: LoadedObject | None = None
    rules: set[PodConstraints] = field(default_factory=set)
    faults: dict[str, None] = field(default_factory=dict)
    pods: int = 0


class _Gathered:
    """Collects from objects as they pass, without keeping pods."""

    def __init__(self, taint: Taint | None) -> None:
        self._taint = taint
        self._read: dict[str, PodConstraints | str] = {}
        self.owners: dict[WorkloadKey, WorkloadKey] = {}
        self.declared: dict[WorkloadKey, list[_Statement]] = {}
        self.running: defaultdict[WorkloadKey, _Statement] = defaultdict(_Statement)

    def passing(self, objects: Iterable[LoadedObject]) -> Iterator[LoadedObject]:
        """Yield the objects as they are."""
        for each in objects:
            key, owner = get_workload_key(each.value), get_owner(each.value)
            if owner is not None:
                self.owners[key] = owner
            if key.kind == "Pod" and owner is not None:
                if not has_ended(each.value):
                    self._add_pod(self.running[owner], each.value)
            elif owner not in self.declared:
                # What a workload owns matters only if the workload itself was not read.
                declared = self._declared(each)
                if declared is not None:
                    self.declared.setdefault(key, []).append(declared)
            yield each

    def _add_pod(self, said: _Statement, value: Mapping[str, object]) -> None:
        said.pods += 1
        rules = self._of_pod(value)
        if isinstance(rules, PodConstraints):
            said.rules.add(rules)
        else:
            said.faults[f"{said.found.source}: {rules}" if said.found else rules] = None

    def _of_pod(self, pod: Mapping[str, object]) -> PodConstraints | str:
        """Return a pod's rules, read once for pods that say the same, or what is wrong with them."""
        spec = pod.get("spec") or {}
        if not isinstance(spec, Mapping):
            return "spec: must be a mapping."
        affinity = spec.get("affinity")
        about = affinity.get("nodeAffinity") if isinstance(affinity, Mapping) else affinity
        written = repr((spec.get("nodeSelector"), about, spec.get("tolerations"), spec.get("os")))
        if written not in self._read:
            try:
                self._read[written] = read_constraints(spec, self._taint)
            except ManifestError as error:
                self._read[written] = error.message.partition(": ")[2]
        return self._read[written]

    def _declared(self, found: LoadedObject) -> _Statement | None:
        made = _Statement(found)
        if found.value.get("kind") == "Pod":
            self._add_pod(made, found.value)
            return made
        try:
            for each in find_templates(found.value, 1):
                if isinstance(each, UnknownContainers):
                    made.faults[f"{each.path} is not in a known pod template"] = None
                else:
                    made.rules.add(read_constraints(each.spec, self._taint))
                    if node := each.spec["nodeName"].text():
                        made.faults[f"nodeName requires the node {node}, whose architecture is not known"] = None
                    made.pods += _pods_of(each)
        except MultiarchError as error:
            made.faults[f"{found.source}: {error.message.partition(': ')[2] or error.message}"] = None
        return made if made.rules or made.faults else None


def _pods_of(template: PodSpecPlace) -> int:
    found = find_pod_template(template.kind, Value(template.written, template.spec.reference))
    return 1 if found is None else found.count


def gather_subjects(
    objects: Iterable[LoadedObject], taint: Taint | None, lines: Lines = find_no_lines, not_read: NotRead | None = None
) -> list[Subject]:
    """List the workloads of objects, sorted, with what they require of nodes; see :func:`list_uses` for what is one.

    Pods themselves are not kept, so that any number may pass. What can't be read is a fault of its
    workload; nothing is raised for it.
    """
    gathered = _Gathered(taint)
    passing = gathered.passing(objects)
    uses = list_uses(passing, lines, not_read)
    by_workload: dict[WorkloadKey, list[ImageUse]] = {}
    for use in uses:
        by_workload.setdefault(use.workload, []).append(use)
    below: dict[WorkloadKey, list[WorkloadKey]] = {}
    for key in {*gathered.declared, *gathered.running}:
        below.setdefault(find_top_owner(key, gathered.owners), []).append(key)
    return [
        _subject(workload, by_workload[workload], sorted(below.get(workload, ())), gathered)
        for workload in sorted(by_workload)
    ]


def _subject(
    workload: WorkloadKey, uses: Iterable[ImageUse], below: Iterable[WorkloadKey], gathered: _Gathered
) -> Subject:
    keys = list(below)
    own = gathered.declared.get(workload, [])
    said = own or [each for key in keys for each in gathered.declared.get(key, ())]
    running = [gathered.running[key] for key in keys if key in gathered.running]
    faults = [fault for each in said for fault in each.faults]
    faults += [fault for each in running for fault in sorted(each.faults)]
    return Subject(
        workload=workload,
        uses=tuple(uses),
        templates=_list_rules(said),
        running=_list_rules(running),
        manifests=tuple(each.found for each in own if each.found),
        faults=tuple(dict.fromkeys(faults)),
        pods=sum(each.pods for each in running) or sum(each.pods for each in said),
    )


def _list_rules(said: Iterable[_Statement]) -> tuple[PodConstraints, ...]:
    return tuple(sorted({rules for each in said for rules in each.rules}, key=repr))
