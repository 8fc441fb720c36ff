"""PodDisruptionBudgets that are deleted, or that allow more evictions: drains then stop more pods at a time."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.manifests.disruption_budgets import PodCount, parse_percentage
from multiarch.manifests.values import to_mapping
from multiarch.observed.resources.properties import (
    Properties,
    get_string_at,
    get_value,
    is_unknown,
    to_integer,
)
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.properties import list_resources
from multiarch.rules import REVIEW_RULES, Finding

BUDGETS = REVIEW_RULES["weaken-disruption-budget"]

_TYPES = ("kubernetes:policy/v1:PodDisruptionBudget", "kubernetes:policy/v1beta1:PodDisruptionBudget")
_FIELDS = ("minAvailable", "maxUnavailable")


def find_weaker_budgets(change: StackChange) -> Iterator[Finding]:
    """Yield budgets without a replacement, then those that are weaker than before."""
    steps = [step for step in list_resources(change.preview.steps, *_TYPES) if step.operation is not Operation.SAME]
    made = [step.new for step in steps if step.old is None and step.new is not None]
    for step in steps:
        if step.operation is Operation.DRIFT or step.old is None:
            continue
        if step.operation is Operation.DELETE or step.new is None:
            if not any(_same_pods(step.old, each) and _weaker(step.old, each) is None for each in made):
                yield _finding(step, step.old, f"It is deleted ({_limit(step.old)}): drains stop all its pods at once.")
        elif (text := _weaker(step.old, step.new)) is not None:
            yield _finding(step, step.new, text)


def _finding(step: Step, state: State, text: str) -> Finding:
    namespace = get_string_at(state.inputs, "metadata.namespace") or "default"
    name = get_string_at(state.inputs, "metadata.name") or step.name
    return Finding(BUDGETS, f"PodDisruptionBudget {namespace}/{name}", text, (), (step.urn,))


def _same_pods(old: State, new: State) -> bool:
    pairs = (
        (get_value(each.inputs, "metadata.namespace"), get_value(each.inputs, "spec.selector")) for each in (old, new)
    )
    first, second = pairs
    return first == second


def _weaker(old: State, new: State) -> str | None:
    """Return why the new budget may protect less, or None. What can't be compared counts as weaker."""
    if any(is_unknown(new.inputs, f"spec.{field}") for field in (*_FIELDS, "selector")):
        return "Its new limit or selector is known only during the update."
    if not _same_pods(old, new):
        return "Its selector changes: other pods are protected from now on."
    before, after = _limits(old.inputs), _limits(new.inputs)
    if before == after:
        return None
    limits = f"{_limit(old)} → {_limit(new)}"
    less = False
    for field in {*before, *after}:
        first, second = _share(before.get(field)), _share(after.get(field))
        if first is None or second is None or first.percent != second.percent:
            return f"{limits}: which of the two protects more depends on the number of pods."
        less = less or (second.value < first.value if field == "minAvailable" else second.value > first.value)
    return f"{limits}: drains may stop more pods at a time." if less else None


def _limits(properties: Properties) -> dict[str, object]:
    spec = to_mapping(get_value(properties, "spec"))
    return {field: spec[field] for field in _FIELDS if spec.get(field) is not None}


def _limit(state: State) -> str:
    return ", ".join(f"{field} {value}" for field, value in _limits(state.inputs).items()) or "no limit"


def _share(value: object) -> PodCount | None:
    """Return a limit as the engine writes it, or None for one that the API server rejects."""
    if isinstance(value, str) and value.endswith("%"):
        return parse_percentage(value)
    found = to_integer(value)
    return None if found is None else PodCount(found)
