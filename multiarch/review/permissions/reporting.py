"""One kind of permissions as findings: how it is read as grants, whose they are, and how these are worded."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from multiarch.observed.resources.iam_documents import DENY, EXCEPT
from multiarch.observed.resources.properties import (
    Properties,
    get_hidden_reason,
    get_string_at,
    list_values,
    require_string,
)
from multiarch.observed.resources.secrets import mask_secrets
from multiarch.review.model import Operation, StackChange, State, Step
from multiarch.review.permissions.grants import UNREAD, Field, Grant, find_new_grants
from multiarch.review.values import limit_lines
from multiarch.rules import Finding, Risk, make_finding

CLUSTER = "aws:eks/cluster:Cluster"
UNCHANGED = frozenset({Operation.SAME, Operation.FORGET, Operation.IMPORT, Operation.READ})
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ABBREVIATIONS = frozenset({"ecr", "efs", "eks", "iam", "kms", "s3", "sns", "sqs"})
_EVERYONE = frozenset({"0.0.0.0/0", "::/0"})
_MAXIMUM_CHARACTERS = 300


class GrantOwner(NamedTuple):
    """Who has permissions: the subject of findings, and the property that names it, empty for the resource itself."""

    subject: str
    property: str = ""


Parts = Iterator[tuple[GrantOwner, Iterable[Grant]]]
"""What a resource gives to whom. Iterating over the grants raises ValueError with what can't be read."""


@dataclass(frozen=True, slots=True)
class Side:
    """One resource on one side of a change."""

    step: Step
    state: State

    @property
    def inputs(self) -> Properties:
        """What the program declares."""
        return self.state.inputs

    @property
    def subject(self) -> str:
        """The kind and the name, for people: ``IAM role cluster``. A cluster has the name that AWS knows."""
        known = get_string_at(self.inputs, "name") if self.step.type == CLUSTER else None
        return f"{name_kind(self.step.type)} {known or self.step.name}"

    def name_reference(self, name: str, of: str, value: object) -> str:
        """Return what a value names: the subject of the resource of this stack that it comes from, else the value.

        ``name`` is the property that has the value. Raises ValueError for one that is not known.
        """
        sources = [each for each in self.state.dependencies.get(name, ()) if f"{of}::" in each]
        is_alone = of != CLUSTER and list_values(self.inputs.get(name)) == [value]
        kind = name_kind(of)
        if len(sources) == 1 and (is_alone or get_hidden_reason(value)):
            return f"{kind} {sources[0].rpartition('::')[2]}"
        return require_string(value, f"{'an' if kind[0] in 'aeiouIE' else 'a'} {kind}")

    def find_owner(self, name: str, of: str, value: object) -> GrantOwner:
        """Return whom a value names, with the kind of its type ``of``; of an ARN, the last part alone."""
        kind = name_kind(of)
        try:
            found = self.name_reference(name, of, value)
        except ValueError:
            return GrantOwner(f"{kind} of {self.subject}", name)
        return GrantOwner(found if found.startswith(f"{kind} ") else f"{kind} {found.rpartition('/')[2]}", name)


def name_kind(type_: str) -> str:
    """Return what people call a type: ``IAM role`` for ``aws:iam/role:Role``."""
    module, _, name = type_.rpartition(":")
    if not module.startswith("aws:"):
        return name
    service = module.removeprefix("aws:").partition("/")[0]
    kind = _CAPITAL.sub(" ", name).lower().replace("open id connect", "OpenID Connect")
    return f"{service.upper()} {kind}" if service in _ABBREVIATIONS else kind


@dataclass(frozen=True, slots=True)
class PermissionSource:
    """One kind of permissions. ``read`` yields what a resource gives on one side; its type begins as one of ``types``.

    ``verbs`` are for what an owner gets and for what it loses; ``joins`` stand before a grant's resource and principal,
    ``everything`` in the place of ``*`` in its fields. ``rates_new``: only what a new owner gets has the risk of its
    grants.
    """

    rule: str
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
            said = "" if isinstance(error, ValueError) else "values of an unexpected type: "
            found[GrantOwner(side.subject)].append(Grant(f"{said}{error}", effect=UNREAD))
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
            gained = find_new_grants(old, new)
            # Of what can't be read, it is not known what else it still gives.
            is_known = not is_new and all(each.effect != UNREAD for each in (*old, *new))
            lost = find_new_grants(new, old) if is_known else {}
        except ValueError as error:
            gained, lost = {Grant(str(error), effect=UNREAD): None}, {}
        is_rated = (is_new or not self.rates_new) and all(each.effect != UNREAD for each in gained)
        risk = max((each.risk for each in gained), default=None) if is_rated else None
        gets = (self.verbs[0], self._describe(gained, ("no longer denied: ", "before", "now")))
        less = {each: other for each, other in lost.items() if each not in gained.values()}
        loses = (self.verbs[1], self._describe(less, ("now denied: ", "now", "before")))
        yield from report_difference(self.rule, owner.subject, step, gets, loses, risk)

    def _describe(self, grants: Mapping[Grant, Grant | None], words: tuple[str, str, str]) -> list[str]:
        """Describe grants, one line each, or in one if they differ in one field.

        ``words`` are for a denial, and when another condition holds, of what is allowed and of what is denied.
        """
        rows: list[tuple[Any, ...]] = []
        for each, other in grants.items():
            how = (each.effect, each.condition, other.condition if other else "")
            rows.append(((each.action,), (each.resource,), (each.principal,), how))
        for index in range(3):
            merged: dict[tuple[Any, ...], tuple[Field, ...]] = {}
            for row in rows:
                key = (*row[:index], *row[index + 1 :])
                merged[key] = merged.get(key, ()) + row[index]
            rows = [(*key[:index], values, *key[index:]) for key, values in merged.items()]
        lines = []
        for *fields, (effect, condition, before) in rows:
            is_denied = effect == DENY
            said = "".join(map(_name_fields, ("", *self.joins), fields, self.everything)).strip()
            said = f"{words[0] * is_denied}{said}{_describe_condition(' if ', condition)}"
            lines.append(said + _describe_condition(f"; {words[1 + is_denied]} only if ", before))
        return lines


def report_difference(
    rule: str,
    subject: str,
    step: Step,
    gained: tuple[str, Sequence[str]],
    lost: tuple[str, Sequence[str]] = ("", ()),
    risk: Risk | None = None,
) -> Iterator[Finding]:
    """Yield a finding of ``rule`` if something is gained, which also says what is lost; else ``narrow-permissions``.

    ``gained`` and ``lost`` are verbs with lines.
    """
    wider, losses = bool(gained[1]), [f"{lost[0]}: {each}" for each in lost[1]]
    verb, lines = gained if wider else lost
    if lines:
        first, *others = map(mask_secrets, dict.fromkeys(lines))
        prefix = "changed outside of Pulumi: " if step.operation is Operation.DRIFT else ""
        text = f"{prefix}{verb}: {first}" + (f"; and {len(others)} more" if others else "")
        details = limit_lines([*others, *(map(mask_secrets, losses) if wider else ())])
        name = rule if wider else "narrow-permissions"
        yield make_finding(name, subject, text, details, (step.urn,), risk if wider else None)


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
    return _shorten(before + " and ".join(tests)) if tests else ""


def _shorten(text: str) -> str:
    return text if len(text) <= _MAXIMUM_CHARACTERS else f"{text[:_MAXIMUM_CHARACTERS]}…"
