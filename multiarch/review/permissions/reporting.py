"""One kind of permissions as findings: how it is read as grants, and how these are worded."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multiarch.observed.resources.secrets import mask_secrets
from multiarch.review.model import Change
from multiarch.review.permissions.grants import ALLOW, EXCEPT, Field, Grant, find_new_grants, find_other_condition
from multiarch.review.permissions.sides import HIDDEN, LATER, ComparedResource, Owner, Sides, compare_sides, list_values
from multiarch.rules import REVIEW_RULES, Finding, Risk, Rule

NARROW = REVIEW_RULES["narrow-permissions"]
_EVERYONE = frozenset({"0.0.0.0/0", "::/0"})
_MAXIMUM_CHARACTERS, _MAXIMUM_LINES = 300, 20
Parts = Iterator[tuple[Owner, Iterable[Grant]]]
"""What a resource gives to whom. Iterating over the grants raises ValueError with what can't be read."""


@dataclass(slots=True)
class Held:
    """What one owner has on one side. ``problems`` are URNs with what of them can't be read."""

    grants: list[Grant] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    urns: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class PermissionSource:
    """One kind of permissions. ``read`` yields what a resource gives on one side; its type begins as one of ``types``.

    ``verbs`` are for a new owner, for one that gets more, and for one that loses something; ``joins`` stand before a
    grant's resource and principal, ``everything`` in the place of ``*`` in its fields. ``rates_new``: only what a new
    owner gets has the risk of its grants.
    """

    rule: Rule
    types: tuple[str, ...]
    read: Callable[[Sides, ComparedResource], Parts]
    verbs: tuple[str, str, str]
    joins: tuple[str, str] = (" on ", " for ")
    everything: tuple[str, str, str] = ("every action", "every resource", "everyone")
    rates_new: bool = False

    def find(self, change: Change) -> Iterator[Finding]:
        """Yield what each owner gets or loses, by URN or name."""
        for sides in compare_sides(change, self.types):
            before, after = self._collect(sides, sides.before), self._collect(sides, sides.after)
            for owner in sorted({*before, *after}):
                old, new = before.get(owner, Held()), after.get(owner, Held())
                is_deleted = not new.urns and owner[0] in sides.before and owner[0] not in sides.after
                if sides.touched & (old.urns | new.urns) and not is_deleted:
                    yield from self._compare(sides, owner, old, new)

    def _collect(self, sides: Sides, side: Mapping[str, ComparedResource]) -> Mapping[Owner, Held]:
        found: dict[Owner, Held] = defaultdict(Held)
        for urn, resource in side.items():
            try:
                for owner, grants in self.read(sides, resource):
                    _add_grants(found[owner], urn, grants)
            except (AttributeError, TypeError, ValueError) as error:
                _add_grants(found[urn, resource.subject], urn, (), f"values of an unexpected type: {error}")
        return found

    def _compare(self, sides: Sides, owner: Owner, old: Held, new: Held) -> Iterator[Finding]:
        problems = [
            text
            for urn, text in new.problems
            if urn in sides.touched and ((urn, text) not in old.problems or LATER in text or HIDDEN in text)
        ]
        is_new = not old.urns and (owner[0] in sides.after or owner[0].startswith("?"))
        gained: dict[Grant, Grant | None] = {}
        lost: dict[Grant, Grant | None] = {}
        try:
            gained = _add_conditions(find_new_grants(old.grants, new.grants), old, new)
            changed = set(gained.values())
            less = [] if is_new or new.problems else find_new_grants(new.grants, old.grants)
            lost = _add_conditions([each for each in less if each not in changed], new, old)
        except ValueError as error:
            problems.append(str(error))
        risk = None
        if gained and not problems and (is_new or not self.rates_new):
            risk = max(each.risk for each in gained)
        gets = (self.verbs[0 if is_new else 1], [*self._describe(gained), *problems])
        about = (owner[1], tuple(sorted(old.urns | new.urns)), sides.outside)
        yield from report_difference(self.rule, about, gets, (self.verbs[2], self._describe(lost, "now")), risk)

    def _describe(self, grants: Mapping[Grant, Grant | None], then: str = "before") -> list[str]:
        """Return lines; grants that differ in one field only share one. ``then`` is now for what is lost."""
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
            denied = "" if effect == ALLOW else "no longer denied: " if then == "before" else "now denied: "
            time = then if effect == ALLOW else {"before": "now", "now": "before"}[then]
            lines.append(denied + said + _shorten(_describe_condition(f"; {time} only if ", other or "")))
        return lines


def report_difference(
    rule: Rule,
    about: tuple[str, tuple[str, ...], bool],
    gained: tuple[str, Sequence[str]],
    lost: tuple[str, Sequence[str]] = ("", ()),
    risk: Risk | None = None,
) -> Iterator[Finding]:
    """Yield a finding of ``rule`` if something is gained, which also says what is lost; else one of ``NARROW``.

    ``about`` are the subject, URNs, and whether the change was made outside of Pulumi. The others are verbs with lines.
    """
    subject, urns, is_outside = about
    losses = [f"{lost[0]}: {each}" for each in lost[1]]
    for kind, (verb, lines), further, level in ((rule, gained, losses, risk), (NARROW, lost, [], None)):
        first, *others = map(mask_secrets, dict.fromkeys(lines)) if lines else [""]
        if first:
            prefix, rest = ("changed outside of Pulumi: " if is_outside else ""), f"; and {len(others)} more"
            details = limit_lines([*others, *map(mask_secrets, further)])
            yield Finding(kind, subject, f"{prefix}{verb}: {first}{rest if others else ''}", details, urns, level)
            return


def limit_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines, and how many were omitted."""
    if len(lines) <= _MAXIMUM_LINES:
        return tuple(lines)
    return (*lines[: _MAXIMUM_LINES - 1], f"and {len(lines) - _MAXIMUM_LINES + 1} more")


def _add_grants(held: Held, urn: str, grants: Iterable[Grant], problem: str = "") -> None:
    held.urns.add(urn)
    try:
        held.grants += grants
    except ValueError as error:
        problem = str(error)
    if problem:
        held.problems.append((urn, problem))


def _add_conditions(grants: Iterable[Grant], old: Held, new: Held) -> dict[Grant, Grant | None]:
    """Return new grants with those of the other side that differ in their conditions only."""
    return {each: find_other_condition(each, (old if each.effect == ALLOW else new).grants) for each in grants}


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
