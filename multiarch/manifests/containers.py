"""The one search for containers: pod specs in an object of any kind, and what a container is there for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from multiarch.errors import KeyPath
from multiarch.manifests.kinds import find_pod_spec

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
"""Keys of a pod spec, in the order in which containers start."""
_READ_OF_POD_SPECS = frozenset((*CONTAINER_LISTS, "volumes"))
_NOT_SEARCHED = frozenset(("metadata", "status"))
"""Keys that describe an object: nothing below them is run."""
_SEARCHED = (dict, list, Mapping)
_DEEPEST = 200
"""Levels of nesting, as many as YAML may have here. In a CronJob the pod spec is at the fifth."""


class ContainerRole(StrEnum):
    """What uses an image. A sidecar is an init container that restarts always; an image volume is mounted, not run."""

    CONTAINER = "container"
    INIT = "init container"
    SIDECAR = "sidecar"
    EPHEMERAL = "ephemeral container"
    VOLUME = "image volume"


def get_role(key: str, container: Mapping[str, object]) -> ContainerRole:
    """Return the role of a container in the list ``key`` of a pod spec."""
    if key == "initContainers":
        return ContainerRole.SIDECAR if container.get("restartPolicy") == "Always" else ContainerRole.INIT
    return ContainerRole.CONTAINER if key == "containers" else ContainerRole.EPHEMERAL


def find_pod_specs(content: Mapping[str, object]) -> Iterator[tuple[KeyPath, Mapping[str, object]]]:
    """Yield the pod specs of an object of any kind in their order, each with the keys that lead to it.

    Kubernetes' own kinds have one at a known path, whatever it holds. In other objects a pod spec is every mapping in
    which a list ``containers``, ``initContainers`` or ``ephemeralContainers`` has at least one mapping with a name or
    an image: CustomResourceDefinitions may omit the name (Knative's) or the containers (those of operators that
    add their own). One that several YAML aliases share is yielded once.
    """
    path = find_pod_spec(str(content.get("kind")), content.get("apiVersion"))
    if path is None:
        yield from ((path, value) for path, value in walk_mappings(content) if path and is_pod_spec(value))
        return
    here: object = content
    for key in path:
        here = here.get(key) if isinstance(here, Mapping) else None
    if isinstance(here, Mapping):
        yield path, here


def walk_mappings(content: Mapping[str, object]) -> Iterator[tuple[KeyPath, Mapping[Any, object]]]:
    """Yield an object and every mapping below it in their order, each once, with the keys that lead to it.

    ``metadata`` and ``status`` are omitted at every level, and so are the containers and volumes of pod specs.
    """
    waiting: list[tuple[KeyPath, object]] = [((), content)]
    seen: set[int] = set()
    while waiting:
        path, value = waiting.pop()
        if id(value) in seen or len(path) > _DEEPEST:
            continue
        if isinstance(value, list):
            seen.add(id(value))
            waiting += [
                ((*path, index), value[index])
                for index in range(len(value) - 1, -1, -1)
                if isinstance(value[index], _SEARCHED)
            ]
        elif isinstance(value, dict | Mapping):
            seen.add(id(value))
            yield path, value
            read = _READ_OF_POD_SPECS if path and is_pod_spec(value) else frozenset()
            waiting += [
                ((*path, key), inner)
                for key, inner in reversed(list(value.items()))
                if isinstance(inner, _SEARCHED)
                and isinstance(key, str)
                and key not in _NOT_SEARCHED
                and key not in read
            ]


def is_pod_spec(value: Mapping[str, object]) -> bool:
    """Return whether any list of containers has one."""
    # Required of every mapping: most have none of the keys.
    for key in CONTAINER_LISTS:
        found = value.get(key)
        if isinstance(found, list) and any(_is_container(each) for each in found):
            return True
    return False


def _is_container(value: object) -> bool:
    return isinstance(value, dict | Mapping) and ("name" in value or "image" in value)
