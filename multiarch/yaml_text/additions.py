"""Additions to a document: what JSON Patch (RFC 6902) calls ``add``, and what they make of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from multiarch.errors import KeyPath

APPEND = "-"
"""In place of a list's index: behind its last element."""


@dataclass(frozen=True, slots=True)
class Addition:
    """``value``, which is JSON, is added at ``path``: appended to a list (:data:`APPEND`), or as the value of a key.

    ``comment`` is written behind it where there is room for one.
    """

    path: KeyPath
    value: object
    comment: str = ""

    def below(self, prefix: KeyPath) -> Addition:
        """Return the same addition, as seen from further up."""
        return replace(self, path=(*prefix, *self.path))


def add_values(target: Mapping[str, object], additions: Iterable[Addition]) -> Mapping[str, object]:
    """Return ``target`` with additions made in their order; ``target`` itself is not changed.

    Raises ValueError for an addition that would replace something but null, or whose path leads through something that
    is not there.
    """
    for addition in additions:
        target = _into_mapping(target, addition.path, addition.value)
    return target


def _into_mapping(target: Mapping[str, object], path: KeyPath, value: object) -> Mapping[str, object]:
    key, rest = str(path[0]), path[1:]
    there = target.get(key)
    if rest:
        return {**target, key: _into(there, rest, value)}
    if there is not None:
        raise ValueError(f"{key} has a value already")
    return {**target, key: value}


def _into(target: object, path: KeyPath, value: object) -> object:
    if isinstance(target, Mapping):
        return _into_mapping(target, path, value)
    key, rest = path[0], path[1:]
    if isinstance(target, list | tuple):
        if key == APPEND and not rest:
            return [*target, value]
        if isinstance(key, int) and rest and key < len(target):
            return [*target[:key], _into(target[key], rest, value), *target[key + 1 :]]
    raise ValueError(f"nothing can be added at {key}")
