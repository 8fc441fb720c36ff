"""One kind of permissions as findings: how it is read as grants, and how these are worded."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multiarch.observed.resources.secrets import mask_secrets
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.permissions.grants import (
    DENY,
    EXCEPT,
    UNREAD,
    Field,
    Grant,
    find_new_grants,
    find_other_condition,
)
from multiarch.review.permissions.sides import HIDDEN, LATER, GrantOwner, Side, list_values
from multiarch.review.values import limit_lines
from multiarch.rules import REVIEW_RULES, Finding, Risk, Rule

NARROW = REVIEW_RULES["narrow-permissions"]
UNCHANGED = frozenset({Operation.SAME, Operation.FORGET, Operation.IMPORT, Operation.READ})
_EVERYONE = frozenset({"0.0.0.0/0", "::/0"})
_MAXIMUM_CHARACTERS = 300
Parts = Iterator[tuple[GrantOwner, Iterable[Grant]]]
"""What a resource gives to whom. Iterating over the grants raises ValueError with what can't be read."""


@dataclass(frozen=True, slots=True)
class PermissionSource:
    """One kind of permissions. ``read`` yields what a resource gives on one side; its type begins as one of ``types``.

    ``verbs`` are for what an owner gets and for what it loses; ``joins`` stand before a grant's resource and principal,
    ``everything`` in the place of ``*`` in its fields. ``rates_new``: only what a new owner gets has the risk of its
    grants.
    """

    rule: Rule
    types: tuple[str, ...]
    read: Callable[[Side], Parts]
    verbs: tuple[str, str]
    joins: tuple[str, str] = (" on ", " for ")
    everything: tuple[str, str, str] = ("every action", "every resource", "everyone")
    rates_new: bool = False

    def find(self, change: StackChange) -> Iterator[Finding]:
        """Yield what each resource gives more or less than before, in the order of the preview's steps."""
        steps = change.preview.steps
        passing = {each.urn for each in steps if each.operation in {Operation.CREATE, Operation.DELETE}}
        for step in steps:
            if step.type.startswith(self.types) and step.operation not in UNCHANGED:
                before, after = self._collect(step, step.old), self._collect(step, step.new)
                for owner in sorted({*before, *after}):
                    yield from self._compare(step, owner, before.get(owner), after.get(owner), passing)

    def _collect(self, step: Step, state: State | None) -> Mapping[GrantOwner, list[Grant]]:
        found: dict[GrantOwner, list[Grant]] = defaultdict(list)
        side = Side(step, state or State({}, {}))
        try:
            for owner, grants in self.read(side) if state else ():
                try:
                    found[owner] += grants
                except ValueError as error:
                    found[owner].append(Grant(str(error), effect=UNREAD))
        except (AttributeError, TypeError, ValueError) as error:
            found[GrantOwner(side.subject)].append(Grant(f"values of an unexpected type: {error}", effect=UNREAD))
        return found

    def _compare(
        self, step: Step, owner: GrantOwner, before: list[Grant] | None, after: list[Grant] | None, passing: set[str]
    ) -> Iterator[Finding]:
        old, new = before or [], after or []
        # One that comes or goes together with the resource, or is the resource.
        state = step.new or step.old
        # The event log has no dependencies: there, what comes or goes with its component counts.
        sources = state.dependencies.get(owner.property, ()) if state and state.dependencies else (step.parent,)
        is_whole = not owner.property or not passing.isdisjoint(sources)
        if is_whole and step.new is None:
            return
        is_new = before is None and is_whole
        try:
            gained = {each: find_other_condition(each, old if each.effect != DENY else new) for each in _gain(old, new)}
            # Of what can't be read, it is not known what else it still gives.
            is_known = not is_new and all(each.effect != UNREAD for each in (*old, *new))
            less = [each for each in (_gain(new, old) if is_known else ()) if each not in gained.values()]
            lost = {each: find_other_condition(each, new if each.effect != DENY else old) for each in less}
        except ValueError as error:
            gained, lost = {Grant(str(error), effect=UNREAD): None}, {}
        risk = None
        if (is_new or not self.rates_new) and all(each.effect != UNREAD for each in gained):
            risk = max((each.risk for each in gained), default=None)
        gets = (self.verbs[0], self._describe(gained))
        loses = (self.verbs[1], self._describe(lost, "now"))
        yield from report_difference(self.rule, owner.subject, step, gets, loses, risk)

    def _describe(self, grants: Mapping[Grant, Grant | None], then: str = "before") -> list[str]:
        """Describe grants, one line each, or in one if they differ in one field. ``then`` is "now" for what is lost."""
        rows: list[tuple[Any, ...]] = [
            (
                (each.action,),
                (each.resource,),
                (each.principal,),
                each.effect,
                each.condition,
                other and other.condition,
            )
            for each, other in grants.items()
        ]
        for index in range(3):
            merged: dict[tuple[Any, ...], list[Field]] = defaultdict(list)
            for row in rows:
                merged[(*row[:index], *row[index + 1 :])] += row[index]
            rows = [(*key[:index], tuple(values), *key[index:]) for key, values in merged.items()]
        lines = []
        for *fields, effect, condition, other in rows:
            parts = map(_name_fields, ("", *self.joins), fields, self.everything)
            said = _shorten("".join(parts)).strip() + _shorten(_describe_condition(" if ", condition))
            denied = "" if effect != DENY else "no longer denied: " if then == "before" else "now denied: "
            time = then if effect != DENY else {"before": "now", "now": "before"}[then]
            lines.append(denied + said + _shorten(_describe_condition(f"; {time} only if ", other or "")))
        return lines


def report_difference(
    rule: Rule,
    subject: str,
    step: Step,
    gained: tuple[str, Sequence[str]],
    lost: tuple[str, Sequence[str]] = ("", ()),
    risk: Risk | None = None,
) -> Iterator[Finding]:
    """Yield a finding of ``rule`` if something is gained, which also says what is lost; else one of ``NARROW``.

    ``gained`` and ``lost`` are verbs with lines.
    """
    losses = [f"{lost[0]}: {each}" for each in lost[1]]
    for kind, (verb, lines), further, level in ((rule, gained, losses, risk), (NARROW, lost, [], None)):
        first, *others = map(mask_secrets, dict.fromkeys(lines)) if lines else [""]
        if first:
            prefix = "changed outside of Pulumi: " if step.operation is Operation.DRIFT else ""
            rest = f"; and {len(others)} more" if others else ""
            details = limit_lines([*others, *map(mask_secrets, further)])
            yield Finding(kind, subject, f"{prefix}{verb}: {first}{rest}", details, (step.urn,), level)
            return


def _gain(old: Sequence[Grant], new: Sequence[Grant]) -> list[Grant]:
    """Return the new grants; a value that is not known is new in any case."""
    return find_new_grants([each for each in old if not (LATER in each.action or HIDDEN in each.action)], new)


def _name_fields(before: str, fields: Sequence[Field], everything: str) -> str:
    """Return a list in a sentence; empty if there is nothing to say."""
    listed = ", ".join(_name_field(each, everything) for each in fields)
    return f"{before}{_shorten(listed)}" if listed else ""


def _name_field(value: Field, everything: str) -> str:
    if isinstance(value, range):
        return f"{value.start}" if len(value) == 1 else f"{value.start}-{value.stop - 1}"
    text = str(value)
    if text in _EVERYONE:
        return f"{text} (everyone)"
    return everything if text == "*" else text.replace(EXCEPT, f"{everything} except ")


def _describe_condition(before: str, condition: str) -> str:
    tests = [
        f"{key} {operator} {', '.join(map(str, list_values(values)))}"
        for operator, keys in (json.loads(condition) if condition else {}).items()
        for key, values in keys.items()
    ]
    return before + " and ".join(tests) if tests else ""


def _shorten(text: str) -> str:
    return text if len(text) <= _MAXIMUM_CHARACTERS else f"{text[:_MAXIMUM_CHARACTERS]}…"
