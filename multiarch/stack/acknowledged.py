"""Warnings that a team has decided about: marked with the reason, and no longer counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from multiarch.errors import Problem
from multiarch.rules import RULES, Severity
from multiarch.rules.policies import POLICIES
from multiarch.stack.load import Stack
from multiarch.stack.schema_paths import find_nearest

UNUSED = "unused-acknowledgement"
_NOT_READ = "cluster-not-read"
"""Says that something is not known, which nobody can decide about."""
_WARNINGS = tuple(
    name for name, rule in RULES.items() if rule.severity is Severity.WARNING and name not in (UNUSED, _NOT_READ)
)
_OF_POLICIES = frozenset(rule.name for rule in POLICIES)
_KEY = "acknowledge"


def mark_acknowledged(stack: Stack, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems, with the reason on each warning that the stack acknowledges, and what is wrong with that.

    An entry that no warning needs is a warning itself where no error hides warnings, unless it is the organisation's
    (not every stack has to need it), or a policy's: :func:`mark_warnings` decides about those.
    """
    wanted = stack.spec.acknowledge
    marked = mark_warnings(problems, wanted.items())
    own = list(_check_names(stack))
    if not own and not any(each.severity is Severity.ERROR for each in marked):
        found = {each.rule for each in marked}
        unused = (name for name in wanted if name not in found and _is_expected(stack, name))
        own = [stack.origin.placed((_KEY, name), describe_unused(name)) for name in unused]
    return (*marked, *own)


def mark_warnings(problems: Iterable[Problem], acknowledged: Iterable[tuple[str, str]]) -> list[Problem]:
    """Return the problems, each warning of an acknowledged rule with its reason."""
    reasons = {name: " ".join(reason.split()) for name, reason in acknowledged}
    return [
        replace(each, acknowledged=reasons.get(each.rule, "")) if each.severity is Severity.WARNING else each
        for each in problems
    ]


def describe_unused(name: str) -> Problem:
    """Return the warning about an acknowledged rule that warns of nothing; it has no place yet."""
    return Problem(UNUSED, f"{name} does not warn of anything here.")


def _is_expected(stack: Stack, name: str) -> bool:
    place = stack.origin.places.get((_KEY, name))
    return name not in _OF_POLICIES and (place is None or place.file == stack.origin.file)


def _check_names(stack: Stack) -> Iterator[Problem]:
    for name in stack.spec.acknowledge:
        if name in _WARNINGS:
            continue
        if name in RULES:
            why = "is an error" if RULES[name].severity is Severity.ERROR else "says what is not known"
            yield stack.origin.problem(
                "acknowledged-error", (_KEY, name), f"{name} {why}; only warnings can be acknowledged."
            )
            continue
        near = find_nearest(name, _WARNINGS)
        hint = f"Did you mean {near}?" if near else ""
        yield stack.origin.problem("unknown-rule", (_KEY, name), f"There is no rule {name}.", hint=hint)
