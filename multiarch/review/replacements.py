"""Replacements and deletions of what holds data or runs pods: protected or not, in which order, retained or lost."""

from __future__ import annotations

import json
from collections.abc import Iterator

from multiarch.review.holdings import Holding, get_holding, is_judged, is_resource
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.noise import is_of_no_concern
from multiarch.review.planned import explain_fixed_value
from multiarch.review.values import format_difference, get_resource_name, limit_lines
from multiarch.rules import Finding, Risk, make_finding

_SECRET = "kubernetes:core/v1:Secret"  # noqa: S105  (a type: the provider replaces one whose values change)
_SAFEGUARDS = (
    *("deletionProtection", "enableDeletionProtection", "deletionWindowInDays", "recoveryWindowInDays"),
    *("forceDestroy", "forceDelete", "skipFinalSnapshot"),
)
_CHANGES = {
    Operation.CREATE: "created",
    Operation.UPDATE: "updated",
    Operation.REPLACE: "replaced by a new one",
    Operation.DELETE: "deleted",
}


def find_replacements(change: StackChange) -> Iterator[Finding]:
    """Yield findings in the order of the preview's steps."""
    for step in change.preview.steps:
        held = get_holding(step.type)
        if step.operation is Operation.FORGET:
            yield _forgotten(step, held)
        elif held is not None and step.operation is Operation.REPLACE and step.type != _SECRET:
            yield _replaced(step, held)
        elif held is not None and step.operation is Operation.DELETE:
            rule = "delete-stateful" if held.is_data else "delete-running"
            text = f"It is deleted. Lost with it: {held.lost}."
            yield make_finding(
                rule, _subject(step, held), text, tuple(_safeguards(step.old, retained=False)), (step.urn,)
            )
        elif step.operation in _CHANGES and not is_judged(step.type) and not is_of_no_concern(step):
            yield from _not_judged(step)


def _replaced(step: Step, held: Holding) -> Finding:
    rule = "replace-stateful" if held.is_data else "replace-running"
    retained = step.old is not None and step.old.retain_on_delete
    order = {
        True: "The old one is deleted before the new one exists.",
        False: "The new one is created before the old one is deleted.",
        None: "The preview does not say whether the old one is deleted first; the event log does.",
    }[step.deletes_first]
    details = [_because(step), order, *_safeguards(step.old, retained=retained)]
    fate = "The old one stays in place, and Pulumi stops managing it." if retained else f"Lost with it: {held.lost}."
    risk = Risk.HIGH if step.deletes_first and not retained else None
    rejected = explain_fixed_value(step)
    text = f"{rejected}." if rejected else f"It is replaced by a new one. {fate}"
    return make_finding(rule, _subject(step, held), text, tuple(details), (step.urn,), risk)


def _forgotten(step: Step, held: Holding | None) -> Finding:
    text = "It leaves Pulumi's state and stays in place (retainOnDelete): it goes on to cost, and nothing updates it."
    risk = None if held is not None else Risk.LOW
    return make_finding("forget-resource", _subject(step, held), text, (), (step.urn,), risk)


def _not_judged(step: Step) -> Iterator[Finding]:
    if is_resource(step.type, step.old.id if step.old else ""):
        text = f"It is {_CHANGES[step.operation]}. No rule knows what that does to a resource of its type."
        details = limit_lines([format_difference(step, path) for path in step.changed])
        # It may hold data.
        risk = Risk.HIGH if step.operation in {Operation.REPLACE, Operation.DELETE} else None
        yield make_finding("not-judged", _subject(step, None), text, details, (step.urn,), risk)


def _subject(step: Step, held: Holding | None) -> str:
    return f"{held.noun if held else step.type} {get_resource_name(step)}"


def _because(step: Step) -> str:
    if not step.causes:
        return "The preview does not name a property that causes this: something that it depends on is replaced."
    return f"Reason: {'; '.join(format_difference(step, path) for path in step.causes)}."


def _safeguards(old: State | None, *, retained: bool) -> Iterator[str]:
    """Yield what stops or softens the deletion of a resource, or makes it worse, by its state before the change."""
    if old is None or retained:
        return
    inputs = old.inputs
    if old.protect:
        yield "It is protected: Pulumi rejects this until `protect` is removed in an update of its own."
    if settings := [f"{key} {json.dumps(inputs[key])}" for key in _SAFEGUARDS if inputs.get(key) is not None]:
        yield f"Its settings: {', '.join(settings)}."
