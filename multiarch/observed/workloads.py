"""Workloads and the images they use: every container and image volume of every pod spec in objects of any kind.

Objects are plain mappings as the API server and manifests have them. Only names, images, owners and labels are
read, so objects of any kind pass, also custom resources.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from multiarch.errors import KeyPath
from multiarch.kubernetes.source import LoadedObject, Source, add_object_source
from multiarch.manifests.containers import CONTAINER_LISTS, ContainerRole, find_pod_specs, get_role
from multiarch.manifests.image_fields import find_possible_images, list_field_images
from multiarch.manifests.kinds import find_pod_spec
from multiarch.manifests.owners import WorkloadKey, find_top_owner, get_owner, get_workload_key
from multiarch.manifests.values import ManifestError, ObjectReference, Value, name_yaml_type, to_mapping, to_string
from multiarch.serialization import INLINED, OMITTED

_NAMES = ("name", "generateName", "namespace")
_VARIABLES = ("$(", "{{")
"""Tekton's and Argo's, in fields outside of pod specs."""


@dataclass(frozen=True, slots=True, order=True)
class FileLine:
    """Where an image is written: the line that names it, or else the first of its document. Lines count from 1."""

    file: str
    line: int


Lines = Callable[[str], Sequence[str]]
"""The lines of a file, by the name that its objects' sources give it."""


def find_no_lines(_: str) -> Sequence[str]:
    """Know no file's lines."""
    return ()


@dataclass(frozen=True, slots=True)
class ImageUse:
    """One container, volume or other field that uses an image.

    ``image`` is as written, empty where there is none, ``fault`` why the API server would reject it, if it would;
    ``container`` is the container's name, or the volume's, or the path of the field. ``pull_secrets`` and
    ``service_account`` say with whose credentials the kubelet would fetch it; ``labels`` are the workload's and its
    pods'.
    """

    image: str = field(metadata=OMITTED)
    container: str
    role: ContainerRole
    workload: WorkloadKey = field(metadata=INLINED)
    service_account: str = field(metadata=OMITTED)
    pull_secrets: tuple[str, ...] = field(default=(), metadata=OMITTED)
    labels: tuple[tuple[str, str], ...] = field(default=(), metadata=OMITTED)
    location: FileLine | None = field(default=None, metadata=INLINED)
    fault: str = field(default="", metadata=OMITTED)

    @property
    def namespace(self) -> str:
        """The workload's."""
        return self.workload.namespace

    @property
    def question(self) -> tuple[str, str, bool]:
        """What the verdict depends on: the image, what is wrong with it, and whether it is mounted instead of run."""
        return self.image, self.fault, self.role is ContainerRole.VOLUME


@dataclass(slots=True)
class NotRead:
    """What a search for images passes over, collected while objects pass.

    ``without_images`` counts objects in which no image was found, by kind; ``possible`` has the paths of fields that
    may hold an image and were not read, by object (``SparkApplication shop/etl``).
    """

    without_images: Counter[str] = field(default_factory=Counter)
    possible: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return what was passed over, sorted."""
        return {
            "withoutImages": [{"kind": kind, "objects": n} for kind, n in sorted(self.without_images.items())],
            "possibleImages": [{"object": title, "paths": paths} for title, paths in sorted(self.possible.items())],
        }

    def look_at(self, found: LoadedObject, *, has_images: bool) -> None:
        """Note what of an object is not read."""
        key = get_workload_key(found.value)
        if not has_images:
            self.without_images[key.kind] += 1
        if find_pod_spec(key.kind, found.value.get("apiVersion")) is None:
            paths = tuple(dict.fromkeys(_path_text(found.value, path) for path in find_possible_images(found.value)))
            if paths:
                self.possible[f"{key.kind} {key.namespace}/{key.name}"] = paths


def list_uses(
    objects: Iterable[LoadedObject], lines: Lines = find_no_lines, not_read: NotRead | None = None
) -> list[ImageUse]:
    """List what uses images in all objects, each once, sorted by workload. ``not_read`` collects what is passed over.

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
        key, owner = get_workload_key(each.value), get_owner(each.value)
        is_pod = key.kind == "Pod"
        if owner is not None:
            owners[key] = owner
        if not is_pod:
            present.add(key)
        elif owner is not None and has_ended(each.value):
            continue
        # The pods of one ReplicaSet are alike: what is kept stays as small as what differs.
        nearest, kept = (owner or key, running) if is_pod else (key, templates)
        used = list(_uses_of(each.value, nearest))
        if not_read is not None:
            not_read.look_at(each, has_images=bool(used))
        for use in used:
            identity = (nearest, use.image, use.container, use.role)
            if identity not in kept:
                kept[identity] = replace(use, location=_location(each.source, use.image, lines))
            labels.setdefault(nearest, {}).update(use.labels)
    current = [use for use in templates.values() if owners.get(use.workload) not in present]
    return _by_workload([*current, *running.values()], owners, labels)


def _check_names(found: LoadedObject) -> None:
    metadata = to_mapping(found.value.get("metadata"))
    for name in _NAMES:
        written = metadata.get(name)
        if written is not None and not isinstance(written, str):
            kind = to_string(found.value.get("kind"))
            try:
                Value(metadata, ObjectReference(1, kind), None, "metadata")[name].text()
            except ManifestError as error:
                raise add_object_source(error, (found,)) from None


def has_ended(pod: Mapping[str, object]) -> bool:
    """Return whether a pod has run to its end."""
    return to_mapping(pod.get("status")).get("phase") in ("Succeeded", "Failed")


def _by_workload(
    found: Iterable[ImageUse],
    owners: Mapping[WorkloadKey, WorkloadKey],
    labels: Mapping[WorkloadKey, Mapping[str, str]],
) -> list[ImageUse]:
    """Hand every use to the end of its chain of owners; what a workload and its pods share is one use."""
    merged: dict[WorkloadKey, dict[str, str]] = {}
    for nearest, pairs in labels.items():
        merged.setdefault(find_top_owner(nearest, owners), {}).update(pairs)
    uses: dict[tuple[WorkloadKey, str, str, ContainerRole], ImageUse] = {}
    for use in found:
        top = find_top_owner(use.workload, owners)
        whole = replace(use, workload=top, labels=tuple(sorted(merged[top].items())))
        uses.setdefault((top, use.image, use.container, use.role), whole)
    return sorted(uses.values(), key=lambda use: (use.workload, use.role, use.container, use.image))


def _uses_of(content: Mapping[str, object], workload: WorkloadKey) -> Iterator[ImageUse]:
    own = to_mapping(to_mapping(content.get("metadata")).get("labels"))
    for path, spec in find_pod_specs(content):
        labels = dict(own)
        here: Any = content
        for key in path[:-1]:
            # Pod templates have labels beside their spec.
            here = here[key]
            labels.update(to_mapping(to_mapping(to_mapping(here).get("metadata")).get("labels")))
        yield from list_pod_spec_uses(spec, workload, labels)
    for path, written in list_field_images(content):
        image, fault = _image(written)
        if any(mark in image for mark in _VARIABLES):
            fault = "has a variable, which a controller fills in"
        name, role = _path_text(content, path), ContainerRole.CONTAINER
        yield ImageUse(image, name, role, workload, "default", labels=_texts(own), fault=fault)


def list_pod_spec_uses(
    spec: Mapping[str, object], workload: WorkloadKey, labels: Mapping[str, object] = MappingProxyType({})
) -> Iterator[ImageUse]:
    """Yield what uses images in a pod's ``spec``: its containers and its image volumes."""
    secrets = tuple(
        name for each in _list(spec.get("imagePullSecrets")) if (name := to_string(to_mapping(each).get("name")))
    )
    account = to_string(spec.get("serviceAccountName")) or "default"
    pairs = _texts(labels)
    written = [
        (container.get("image"), container.get("name"), get_role(part, container))
        for part in CONTAINER_LISTS
        for container in _list(spec.get(part))
        if isinstance(container, Mapping)
    ]
    written += [
        (source.get("reference"), volume.get("name"), ContainerRole.VOLUME)
        for volume in _list(spec.get("volumes"))
        if isinstance(volume, Mapping) and isinstance(source := volume.get("image"), Mapping)
    ]
    for image, called, role in written:
        text, fault = _image(image)
        yield ImageUse(text, to_string(called), role, workload, account, secrets, pairs, fault=fault)


def _image(written: object) -> tuple[str, str]:
    """Return the image and what is wrong with it: the API server takes strings only."""
    if written is None or isinstance(written, str):
        return to_string(written), ""
    shown = json.dumps(written) if isinstance(written, bool | int | float) else ""
    return shown, f"must be a string, not {name_yaml_type(written)}" + (": put it in quotes" if shown else "")


def _path_text(content: Mapping[str, object], path: KeyPath) -> str:
    """Return ``spec.steps[0].image``."""
    return Value(content, ObjectReference(1)).at(path).path


def _texts(labels: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, text) for key, text in labels.items() if isinstance(text, str)))


def _location(source: Source, image: str, lines: Lines) -> FileLine | None:
    """Return the line that names the image, in its document; ``None`` for an object of a cluster.

    Objects in JSON get the first line of their document.
    """
    if source.document is None:
        return None
    first = source.line or 1
    if image and source.line is not None:
        key = r"""\w*(?:[iI]mage|imageName|reference)["']?\s*:"""
        written = re.compile(rf"\b{key}.*(?<![\w./-]){re.escape(image)}(?![\w./:@-])")
        for number, line in enumerate(lines(source.where)[first - 1 :], start=first):
            if image in line and written.search(line):
                return FileLine(source.where, number)
            if line.startswith("---") and number > first:
                break
    return FileLine(source.where, first)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
