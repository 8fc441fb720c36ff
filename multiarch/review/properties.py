"""Known values out of a resource's properties: what the engine does not know, and secrets, count as missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from multiarch.review.model import SECRET, UNKNOWN, Operation, Properties, Step
from multiarch.review.property_paths import MISSING, is_below, value_at


def at(properties: Properties, path: str) -> object:
    """The value at a path such as ``scalingConfig.maxSize``.

    None if it is missing, unknown or a secret, or has a part that is.
    """
    value = value_at(properties, path)
    return value if value is not MISSING and _is_known(value) else None


def is_unknown(properties: Properties, path: str) -> bool:
    """Whether a value at a path is known only during the update, or a secret, in whole or in part."""
    return not _is_known(value_at(properties, path))


def _is_known(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_known, value.values()))
    return all(map(_is_known, value)) if isinstance(value, list) else value not in (SECRET, UNKNOWN)


def before(step: Step, path: str) -> object:
    """The value that AWS or Kubernetes reported before the change, or else the one that was declared."""
    if step.old is None:
        return None
    reported = at(step.old.outputs, path)
    return at(step.old.inputs, path) if reported is None else reported


def after(step: Step, path: str) -> object:
    """The value that is declared from now on."""
    return None if step.new is None else at(step.new.inputs, path)


def mapping(value: object) -> Properties:
    """A value as an object; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def text_at(properties: Properties, path: str) -> str | None:
    """A text at a path, or None."""
    value = at(properties, path)
    return value if isinstance(value, str) and value else None


def whole_at(properties: Properties, path: str) -> int | None:
    """A whole number at a path, or None."""
    return whole(at(properties, path))


def whole(value: object) -> int | None:
    """A value as a whole number, or None. The engine writes numbers of some providers as texts or as ``3.0``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) else None


def entries(properties: Properties, path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list at a path."""
    found = at(properties, path)
    yield from (each for each in found if isinstance(each, Mapping)) if isinstance(found, list) else ()


def resources(steps: tuple[Step, ...], *types: str) -> Iterator[Step]:
    """Yield one step for each resource of a type, in the engine's order: what the update does, not only its drift."""
    chosen: dict[str, Step] = {}
    for step in steps:
        if step.type in types and (step.urn not in chosen or chosen[step.urn].operation is Operation.DRIFT):
            chosen[step.urn] = step
    yield from chosen.values()


def changes_of(step: Step, *roots: str) -> list[str]:
    """Return the changed paths that are one of ``roots`` or below it."""
    return [path for path in step.changed if is_below(path, roots)]
