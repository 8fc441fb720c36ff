"""Which images objects use, and where: every container of every pod spec in objects of any kind.

Objects are plain mappings as the API server and manifests have them. Only names, images, owners and labels are
read, so objects of any kind pass, also custom resources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from multiarch.kubernetes.source import LoadedObject, Source, placed
from multiarch.manifests.containers import pod_specs_in
from multiarch.manifests.values import ManifestError, ObjectReference, Value

_LISTS = ("initContainers", "containers", "ephemeralContainers")
_NAMES = ("name", "generateName", "namespace")


class ContainerRole(StrEnum):
    """What a container is for. A sidecar is an init container that restarts always."""

    CONTAINER = "container"
    INIT = "init container"
    SIDECAR = "sidecar"
    EPHEMERAL = "ephemeral container"


@dataclass(frozen=True, slots=True, order=True)
class WorkloadKey:
    """The object at the end of the chain of owners. A bare pod is its own workload."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        """``Deployment/api``."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class FileLine:
    """Where an image is written: the line that names it, or else the first of its document. Lines count from 1."""

    file: str
    line: int


Lines = Callable[[str], Sequence[str]]
"""The lines of a file, by the name that its objects' sources give it."""


def _no_lines(_: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class ImageUse:
    """One container that uses an image.

    ``image`` is as written, empty where the container has none; ``pull_secrets`` and ``service_account`` say with
    whose credentials the kubelet would fetch it; ``labels`` are the workload's and its pods'.
    """

    image: str
    container: str
    role: ContainerRole
    workload: WorkloadKey
    service_account: str
    pull_secrets: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    location: FileLine | None = None


def uses_in(objects: Iterable[LoadedObject], lines: Lines = _no_lines) -> list[ImageUse]:
    """List the containers of all objects, each once, sorted by workload.

    A pod whose owners are known counts as theirs, so that a workload and its pods are one. A ReplicaSet or Job that
    something in the stream owns counts by its pods alone: old ones stay in a cluster for years. So do owned pods that
    have ended. Of an object only its uses are kept, so that any number of pods may pass.

    Raises MultiarchError for an object whose name or namespace is not a string: it could be taken for another object.
    """
    owners: dict[WorkloadKey, WorkloadKey] = {}
    present: set[WorkloadKey] = set()
    labels: dict[WorkloadKey, dict[str, str]] = {}
    running: dict[tuple[WorkloadKey, str, str, ContainerRole], ImageUse] = {}
    templates: dict[tuple[WorkloadKey, str, str, ContainerRole], ImageUse] = {}
    for each in objects:
        _check_names(each)
        key, owner = key_of(each.value), owner_of(each.value)
        is_pod = key.kind == "Pod"
        if owner is not None:
            owners[key] = owner
        if not is_pod:
            present.add(key)
        elif owner is not None and has_ended(each.value):
            continue
        # The pods of one ReplicaSet are alike: what is kept stays as small as what differs.
        nearest, kept = (owner or key, running) if is_pod else (key, templates)
        for use in _uses_of(each.value, nearest):
            identity = (nearest, use.image, use.container, use.role)
            if identity not in kept:
                kept[identity] = replace(use, location=_location(each.source, use.image, lines))
            labels.setdefault(nearest, {}).update(use.labels)
    current = [use for use in templates.values() if owners.get(use.workload) not in present]
    return _by_workload([*current, *running.values()], owners, labels)


def _check_names(found: LoadedObject) -> None:
    metadata = _mapping(found.value.get("metadata"))
    for name in _NAMES:
        written = metadata.get(name)
        if written is not None and not isinstance(written, str):
            kind = _text(found.value.get("kind"))
            try:
                Value(metadata, ObjectReference(1, kind), None, "metadata")[name].text()
            except ManifestError as error:
                raise placed(error, (found,)) from None


def has_ended(pod: Mapping[str, object]) -> bool:
    """Whether a pod has run to its end."""
    return _mapping(pod.get("status")).get("phase") in ("Succeeded", "Failed")


def _by_workload(
    found: Iterable[ImageUse],
    owners: Mapping[WorkloadKey, WorkloadKey],
    labels: Mapping[WorkloadKey, Mapping[str, str]],
) -> list[ImageUse]:
    """Hand every use to the end of its chain of owners; what a workload and its pods share is one use."""
    merged: dict[WorkloadKey, dict[str, str]] = {}
    for nearest, pairs in labels.items():
        merged.setdefault(top_of(nearest, owners), {}).update(pairs)
    uses: dict[tuple[WorkloadKey, str, str, ContainerRole], ImageUse] = {}
    for use in found:
        top = top_of(use.workload, owners)
        whole = replace(use, workload=top, labels=tuple(sorted(merged[top].items())))
        uses.setdefault((top, use.image, use.container, use.role), whole)
    return sorted(uses.values(), key=lambda use: (use.workload, use.role, use.container, use.image))


def key_of(content: Mapping[str, object]) -> WorkloadKey:
    """What an object is called; one without a namespace is in ``default``."""
    metadata = _mapping(content.get("metadata"))
    name = _text(metadata.get("name")) or _text(metadata.get("generateName"))
    return WorkloadKey(_text(metadata.get("namespace")) or "default", _text(content.get("kind")) or "(no kind)", name)


def owner_of(content: Mapping[str, object]) -> WorkloadKey | None:
    """The object's controller, or its first owner where none is one."""
    metadata = _mapping(content.get("metadata"))
    references = [each for each in _list(metadata.get("ownerReferences")) if isinstance(each, Mapping)]
    chosen = next((each for each in references if each.get("controller") is True), next(iter(references), None))
    if chosen is None or chosen.get("kind") == "Node":
        # A static pod's owner is its node; the pod is what there is to change.
        return None
    namespace = _text(metadata.get("namespace")) or "default"
    return WorkloadKey(namespace, _text(chosen.get("kind")), _text(chosen.get("name")))


def top_of(start: WorkloadKey, owners: Mapping[WorkloadKey, WorkloadKey]) -> WorkloadKey:
    """Go from owner to owner; one that owns itself ends the way."""
    here, been = start, {start}
    while (above := owners.get(here)) is not None and above not in been:
        here = above
        been.add(above)
    return here


def _uses_of(content: Mapping[str, object], workload: WorkloadKey) -> Iterator[ImageUse]:
    own = _mapping(_mapping(content.get("metadata")).get("labels"))
    for path, spec in pod_specs_in(content):
        labels = dict(own)
        here: Any = content
        for key in path[:-1]:
            # Pod templates have labels beside their spec.
            here = here[key]
            labels.update(_mapping(_mapping(_mapping(here).get("metadata")).get("labels")))
        yield from _of_pod_spec(spec, workload, labels)


def _of_pod_spec(spec: Mapping[str, object], workload: WorkloadKey, labels: Mapping[str, object]) -> Iterator[ImageUse]:
    secrets = tuple(name for each in _list(spec.get("imagePullSecrets")) if (name := _text(_mapping(each).get("name"))))
    account = _text(spec.get("serviceAccountName")) or "default"
    pairs = tuple(sorted((key, text) for key, text in labels.items() if isinstance(text, str)))
    for part in _LISTS:
        for container in _list(spec.get(part)):
            if isinstance(container, Mapping):
                yield ImageUse(
                    image=_text(container.get("image")),
                    container=_text(container.get("name")),
                    role=_role(part, container),
                    workload=workload,
                    service_account=account,
                    pull_secrets=secrets,
                    labels=pairs,
                )


def _role(part: str, container: Mapping[str, object]) -> ContainerRole:
    if part == "initContainers":
        return ContainerRole.SIDECAR if container.get("restartPolicy") == "Always" else ContainerRole.INIT
    return ContainerRole.CONTAINER if part == "containers" else ContainerRole.EPHEMERAL


def _location(source: Source, image: str, lines: Lines) -> FileLine | None:
    """The line that names the image, in its document; ``None`` for an object of a cluster.

    Objects in JSON get the first line of their document.
    """
    if source.document is None:
        return None
    first = source.line or 1
    if image and source.line is not None:
        written = re.compile(rf"""\bimage["']?\s*:.*(?<![\w./-]){re.escape(image)}(?![\w./:@-])""")
        for number, line in enumerate(lines(source.where)[first - 1 :], start=first):
            if image in line and written.search(line):
                return FileLine(source.where, number)
            if line.startswith("---") and number > first:
                break
    return FileLine(source.where, first)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
