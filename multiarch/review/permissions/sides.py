"""The resources of a stack before and after a change, and which of them a value names.

AWS as it is stands before the update, what the program declares after it. What somebody changed outside of Pulumi has
two sides too: the recorded state, and AWS as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from multiarch.observed.resources.paths import SECRET, UNKNOWN
from multiarch.observed.resources.properties import Properties, text_at
from multiarch.review.model import Change, Operation, State, Step

LATER, HIDDEN = "is known only after the update", "is a secret"
Owner = tuple[str, str]
"""Who has permissions: the URN or the name of the resource that they end with, and the subject of findings."""
_IDENTITIES = ("arn", "name", "url", "keyId", "id")
_CLUSTER = "aws:eks/cluster:Cluster"  # whose name in the program is that of a component of Pulumi
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ABBREVIATIONS = frozenset({"ecr", "efs", "eks", "iam", "kms", "s3", "sns", "sqs"})
_KEPT = frozenset({Operation.SAME, Operation.FORGET, Operation.IMPORT, Operation.READ})


@dataclass(frozen=True, slots=True)
class ComparedResource:
    """One resource on one side."""

    urn: str
    type: str
    name: str
    state: State

    @property
    def subject(self) -> str:
        """The kind and the name, for people: ``IAM role cluster``. A cluster has the name that AWS knows."""
        return f"{name_kind(self.type)} {(self.type == _CLUSTER and text_at(self.inputs, 'name')) or self.name}"

    @property
    def inputs(self) -> Properties:
        """What the program declares."""
        return self.state.inputs


@dataclass(frozen=True, slots=True)
class Sides:
    """Resources by URN. ``touched`` are the URNs of those that are not the same on both sides.

    ``outside``: the change was made outside of Pulumi, and is there already.
    """

    before: Mapping[str, ComparedResource]
    after: Mapping[str, ComparedResource]
    touched: frozenset[str]
    outside: bool = False
    _urns: dict[tuple[str, str], str] = field(default_factory=dict)

    def find_reference(self, resource: ComparedResource, name: str, of: str, value: object) -> str | None:
        """Return which resource of type ``of`` a value names: its URN if it is of this stack, else the value.

        ``name`` is the property that has the value. None for a value that is not known, unless it comes from a single
        resource.
        """
        if isinstance(value, str) and value and not get_hidden_reason(value):
            return self._index().get((of, value), value)
        sources = [each for each in resource.state.dependencies.get(name, ()) if f"{of}::" in each]
        return sources[0] if len(sources) == 1 else None

    def find_owner(self, resource: ComparedResource, name: str, of: str, value: object) -> Owner:
        """Return what a value names, as :meth:`find_reference`, as the owner of what ``resource`` gives it."""
        found = self.find_reference(resource, name, of, value)
        if found is None:
            return f"?{resource.urn}", f"{name_kind(of)} of {resource.subject}"
        return found, self.get_subject(found, of)

    def get_subject(self, reference: str, of: str = "") -> str:
        """Return the subject of a URN of this stack; else the last part of the ARN with the kind of its type ``of``."""
        if known := self.after.get(reference) or self.before.get(reference):
            return known.subject
        return f"{name_kind(of)} {reference.rpartition('/')[2]}" if of else reference

    def get_inputs(self, reference: str | None) -> Properties:
        """Return what the program declares of a resource of this stack, after the change if it is there then."""
        known = self.after.get(reference or "") or self.before.get(reference or "")
        return known.inputs if known else {}

    def _index(self) -> Mapping[tuple[str, str], str]:
        if not self._urns:
            for side in (self.after, self.before):
                for urn, resource in side.items():
                    self._urns.update(((resource.type, each), urn) for each in _list_identities(resource))
        return self._urns


def name_kind(type_: str) -> str:
    """Return what people call a type: ``IAM role`` for ``aws:iam/role:Role``."""
    module, _, name = type_.rpartition(":")
    if not module.startswith("aws:"):
        return name
    service = module.removeprefix("aws:").partition("/")[0]
    kind = _CAPITAL.sub(" ", name).lower().replace("open id connect", "OpenID Connect")
    return f"{service.upper()} {kind}" if service in _ABBREVIATIONS else kind


def list_values(value: object) -> list[Any]:
    """Return the elements of a list; of any other value itself, of None nothing."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def get_hidden_reason(value: object) -> str:
    """Return why a value is not what AWS will get, as a predicate; empty where it is."""
    if isinstance(value, str):
        return LATER if UNKNOWN in value else HIDDEN if SECRET in value else ""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return next(filter(None, map(get_hidden_reason, parts)), "")


def require_string(value: object, what: str) -> str:
    """Return a known string. Raises ValueError with ``what`` is not."""
    if not isinstance(value, str) or get_hidden_reason(value):
        raise ValueError(f"{what} that {get_hidden_reason(value) or 'is not a string'}")
    return value


def require_object(value: object, what: str) -> Properties:
    """Return an object, which may have values that are not known; empty for None. Raises ValueError as above."""
    if value is not None and not isinstance(value, Mapping):
        raise ValueError(f"{what} that {get_hidden_reason(value) or 'is not an object'}")
    return value or {}


def compare_sides(change: Change, types: tuple[str, ...]) -> Iterator[Sides]:
    """Yield the sides of the update, and those of what was changed outside of Pulumi, if anything differs on them.

    They have the resources whose types begin with one of ``types``.
    """
    steps = [step for step in change.preview.steps if step.type.startswith(types)]
    before: dict[str, ComparedResource] = {}
    after: dict[str, ComparedResource] = {}
    touched: set[str] = set()
    for step in sorted(steps, key=lambda each: _ORDER.get(each.operation, len(_ORDER))):
        old, new = step.old, step.new
        if step.operation is Operation.DRIFT:
            old = new  # as it is in AWS
        elif step.operation in _KEPT:
            old = new = old or new
        else:
            touched.add(step.urn)
        if step.operation in _ORDER:
            after.pop(step.urn, None)
        _add_state(before, step, old)
        _add_state(after, step, new)
    if touched:
        yield Sides(before, after, frozenset(touched))
    if drift := [step for step in steps if step.operation is Operation.DRIFT]:
        outside = frozenset(step.urn for step in drift)
        recorded = {urn: each for urn, each in before.items() if urn not in outside}
        found = dict(recorded)
        for step in drift:
            _add_state(recorded, step, step.old)
            _add_state(found, step, step.new)
        yield Sides(recorded, found, outside, outside=True)


def _add_state(side: dict[str, ComparedResource], step: Step, state: State | None) -> None:
    if state is not None:
        side[step.urn] = ComparedResource(step.urn, step.type, step.name, state)


_ORDER = {Operation.DRIFT: 0, Operation.DELETE: 1}
"""What was found in AWS comes first; deletions come before what takes their place."""


def _list_identities(resource: ComparedResource) -> Iterator[str]:
    """Yield by what other resources may name it."""
    yield from filter(None, (text_at(resource.state.outputs, each) for each in _IDENTITIES))
    yield from filter(None, (resource.state.id, text_at(resource.inputs, "name")))
