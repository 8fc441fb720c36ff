"""Values of a step's properties on both sides of the change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from multiarch.observed.resources.paths import is_below
from multiarch.observed.resources.properties import get_value
from multiarch.review.model import Operation, Step


def get_before(step: Step, path: str) -> object:
    """Return the value that AWS or Kubernetes reported before the change, or else the one that was declared."""
    if step.old is None:
        return None
    reported = get_value(step.old.outputs, path)
    return get_value(step.old.inputs, path) if reported is None else reported


def get_after(step: Step, path: str) -> object:
    """Return the value that is declared from now on."""
    return None if step.new is None else get_value(step.new.inputs, path)


def describe_change(step: Step, path: str, name: str) -> str:
    """Return ``name`` with both values where they are short: ``AMI release 1.35.1 → 1.35.2``."""
    old, new = _in_words(get_before(step, path)), _in_words(get_after(step, path))
    return f"{name} {old} → {new}" if old and new else name


def _in_words(value: object) -> str:
    """Return a string, a list of strings, or the alias of a list of one image term; otherwise nothing."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        return str(value[0].get("alias") or "")
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else ""


def list_resources(steps: tuple[Step, ...], *types: str) -> Iterator[Step]:
    """Yield one step for each resource of a type, in the engine's order: what the update does, not only its drift."""
    chosen: dict[str, Step] = {}
    for step in steps:
        if step.type in types and (step.urn not in chosen or chosen[step.urn].operation is Operation.DRIFT):
            chosen[step.urn] = step
    yield from chosen.values()


def list_changes(step: Step, *roots: str) -> list[str]:
    """Return the changed paths that are one of ``roots`` or below it."""
    return [path for path in step.changed if is_below(path, roots)]
