"""Values of a step's properties on both sides of the change."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.observed.resources.paths import is_below
from multiarch.observed.resources.properties import at
from multiarch.review.model import Operation, Step


def before(step: Step, path: str) -> object:
    """Return the value that AWS or Kubernetes reported before the change, or else the one that was declared."""
    if step.old is None:
        return None
    reported = at(step.old.outputs, path)
    return at(step.old.inputs, path) if reported is None else reported


def after(step: Step, path: str) -> object:
    """Return the value that is declared from now on."""
    return None if step.new is None else at(step.new.inputs, path)


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
