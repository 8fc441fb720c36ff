"""The search for pod specs: every mapping with a list of containers, at any depth of an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from multiarch.errors import KeyPath

_NOT_SEARCHED = frozenset(("metadata", "status"))
"""Keys that describe an object: nothing below them is run."""
_DEEPEST = 24
"""Levels of nesting. In a CronJob the pod spec is at the fifth."""


def pod_specs_in(content: Mapping[str, object]) -> Iterator[tuple[KeyPath, Mapping[str, object]]]:
    """Yield the pod specs of an object of any kind in their order, each with the keys that lead to it.

    A pod spec is a mapping whose ``containers`` is a list, not empty, of mappings that have a name or an image. One
    that several YAML aliases share is yielded once. ``metadata`` and ``status`` are not searched.
    """
    yield from _below(content, (), set())


def _below(value: object, path: KeyPath, seen: set[int]) -> Iterator[tuple[KeyPath, Mapping[str, object]]]:
    if not isinstance(value, dict | list | Mapping) or len(path) > _DEEPEST or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, list):
        for index, element in enumerate(value):
            yield from _below(element, (*path, index), seen)
    elif path and _has_containers(value):
        yield path, value
    else:
        for key, element in value.items():
            if isinstance(key, str) and key not in _NOT_SEARCHED:
                yield from _below(element, (*path, key), seen)


def _has_containers(value: Mapping[str, object]) -> bool:
    found = value.get("containers")
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(each, Mapping) and ("name" in each or "image" in each) for each in found)
    )
