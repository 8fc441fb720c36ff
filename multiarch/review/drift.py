"""Drift: what was changed in AWS or Kubernetes since the last update, and what this update does about it."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.observed.resources.paths import get_value_at, split_path
from multiarch.review import noise
from multiarch.review.holdings import get_holding
from multiarch.review.model import Operation, StackChange, Step
from multiarch.review.values import format_from_to, get_resource_name, limit_lines
from multiarch.rules import Finding, Risk, make_finding


def find_drift(change: StackChange) -> Iterator[Finding]:
    """Yield findings in the order of the preview's steps."""
    steps = {step.urn: step for step in change.preview.steps if step.operation is not Operation.DRIFT}
    for step in change.preview.steps:
        if step.operation is not Operation.DRIFT or noise.is_of_no_concern(step):
            continue
        held = get_holding(step.type)
        subject = f"{held.noun if held else step.type} {get_resource_name(step)}"
        if step.new is None:
            again = steps.get(step.urn)
            then = " This update creates it again." if again and again.operation is Operation.CREATE else ""
            risk = Risk.HIGH if held else None
            yield make_finding("drift", subject, f"It was deleted outside of Pulumi.{then}", (), (step.urn,), risk)
            continue
        lines = limit_lines([_line(step, path, steps.get(step.urn)) for path in _paths(step)])
        text = "It was changed outside of Pulumi since the last update."
        yield make_finding("drift", subject, text, lines, (step.urn,))


def _paths(step: Step) -> list[str]:
    return [path for path in step.changed if not noise.is_computed(step, path)] or list(step.changed)


def _line(step: Step, path: str, update: Step | None) -> str:
    if step.old is None or step.new is None:
        return path
    old, new = (get_value_at({**state.outputs, **state.inputs}, path) for state in (step.old, step.new))
    change = format_from_to(old, new, path)
    values = f"{path}: {change}" if change else f"{path} differs"
    if update is None or update.operation is Operation.SAME:
        return f"{values}; this update leaves it"
    if any(split_path(each)[0] == split_path(path)[0] for each in update.changed):
        return f"{values}; this update sets it to what the program says"
    return f"{values}; this update leaves it"
