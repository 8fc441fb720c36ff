"""The resources of a stack on both sides of a change, and which of them mean the same one.

AWS as it is stands before the update, what the program declares after it. What somebody changed outside of Pulumi has
two sides too: the recorded state, and AWS as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from multiarch.review.model import SECRET, UNKNOWN, Change, Operation, State, Step

LATER = "is known only after the update"
HIDDEN = "is a secret"
_IDENTITIES = ("arn", "name", "url", "keyId", "id")
_CLUSTER = "aws:eks/cluster:Cluster"  # whose name in the program is that of a component of Pulumi
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SERVICES = {
    "ecr": "ECR",
    "efs": "EFS",
    "eks": "EKS",
    "iam": "IAM",
    "kms": "KMS",
    "s3": "S3",
    "sns": "SNS",
    "sqs": "SQS",
}
_KINDS = {"aws:iam/openIdConnectProvider:OpenIdConnectProvider": "OpenID Connect provider"}
_KEPT = frozenset({Operation.SAME, Operation.FORGET, Operation.IMPORT, Operation.READ})


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource on one side."""

    urn: str
    type: str
    name: str
    state: State

    @property
    def subject(self) -> str:
        """The kind and the name, for people: ``IAM role cluster``. A cluster has the name that AWS knows."""
        known = self.inputs.get("name") if self.type == _CLUSTER else None
        return f"{kind(self.type)} {known if isinstance(known, str) and known and not hidden(known) else self.name}"

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the program declares."""
        return self.state.inputs


@dataclass(frozen=True, slots=True)
class Sides:
    """Resources by URN. ``touched`` are the URNs of those that are not the same on both sides.

    ``outside``: the change was made outside of Pulumi, and is there already.
    """

    before: Mapping[str, Resource]
    after: Mapping[str, Resource]
    touched: frozenset[str]
    outside: bool = False
    _identities: dict[tuple[str, str], str] = field(default_factory=dict)

    def reference(self, resource: Resource, name: str, of: str) -> str | None:
        """Which resource of type ``of`` a property names: its URN where it is of this stack, else the value.

        None for a value that is not known, unless it comes from a single resource.
        """
        return self.referred(resource, name, of, resource.inputs.get(name))

    def referred(self, resource: Resource, name: str, of: str, value: object) -> str | None:
        """As :meth:`reference`, for a value that is a part of the property ``name``."""
        if isinstance(value, str) and value and not hidden(value):
            return self._known().get((of, value), value)
        sources = [each for each in resource.state.dependencies.get(name, ()) if f"{of}::" in each]
        return sources[0] if len(sources) == 1 else None

    def is_gone(self, urn: str, still_there: Collection[str]) -> bool:
        """Whether a resource is deleted, and nothing of it is ``still_there``: no permissions are left to it."""
        return not still_there and urn in self.before and urn not in self.after

    def touched_resources(self) -> Iterator[Resource]:
        """What is not the same on both sides, as it is on each of them."""
        for side in (self.before, self.after):
            yield from (side[urn] for urn in self.touched if urn in side)

    def named(self, urn: str) -> Resource | None:
        """The resource with a URN, as it is after the change if it is there then."""
        return self.after.get(urn) or self.before.get(urn)

    def _known(self) -> Mapping[tuple[str, str], str]:
        if not self._identities:
            for side in (self.after, self.before):
                for urn, resource in side.items():
                    self._identities.update(((resource.type, each), urn) for each in _identities(resource))
        return self._identities


def kind(type_: str) -> str:
    """What people call a type: ``IAM role`` for ``aws:iam/role:Role``."""
    if type_ in _KINDS:
        return _KINDS[type_]
    module, _, name = type_.rpartition(":")
    words = _CAPITAL.sub(" ", name).lower()
    service = _SERVICES.get(module.partition(":")[2].partition("/")[0], "")
    return f"{service} {words}".strip() if module.startswith("aws:") else name


def several(value: object) -> list[Any]:
    """The elements of a list; of any other value itself, of None nothing."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def hidden(value: object) -> str:
    """Why a value is not what AWS will get, as a predicate; empty where it is."""
    if isinstance(value, str):
        return LATER if UNKNOWN in value else HIDDEN if SECRET in value else ""
    if isinstance(value, Mapping):
        return next(filter(None, map(hidden, value.values())), "")
    if isinstance(value, list | tuple):
        return next(filter(None, map(hidden, value)), "")
    return ""


def both(change: Change, wanted: Callable[[str], bool]) -> Iterator[Sides]:
    """The sides of the update, and those of what was changed outside of Pulumi, for resources of the wanted types.

    Sides on which nothing differs are left out.
    """
    steps = [step for step in change.preview.steps if wanted(step.type)]
    planned = _planned(steps)
    if planned.touched:
        yield planned
    drift = [step for step in steps if step.operation is Operation.DRIFT]
    if drift:
        recorded = {step.urn: _resource(step, step.old) for step in drift if step.old is not None}
        found = {step.urn: _resource(step, step.new) for step in drift if step.new is not None}
        touched = frozenset(step.urn for step in drift)
        rest = {urn: each for urn, each in planned.before.items() if urn not in touched}
        yield Sides(rest | recorded, rest | found, touched, outside=True)


def _planned(steps: Collection[Step]) -> Sides:
    before: dict[str, Resource] = {}
    after: dict[str, Resource] = {}
    touched: set[str] = set()
    for step in sorted(steps, key=_in_time):
        old, new = step.old, step.new
        if step.operation is Operation.DRIFT:
            old = new  # as it is in AWS
        elif step.operation in _KEPT:
            old = new = old or new
        else:
            touched.add(step.urn)
        if step.operation in {Operation.DRIFT, Operation.DELETE}:
            after.pop(step.urn, None)
        for side, state in ((before, old), (after, new)):
            if state is not None:
                side[step.urn] = _resource(step, state)
    return Sides(before, after, frozenset(touched))


def _in_time(step: Step) -> int:
    """What was found in AWS first; deletions before what takes their place."""
    return {Operation.DRIFT: 0, Operation.DELETE: 1}.get(step.operation, 2)


def _resource(step: Step, state: State) -> Resource:
    return Resource(step.urn, step.type, step.name, state)


def _identities(resource: Resource) -> Iterator[str]:
    """By what other resources may name it."""
    values = [resource.state.id, resource.inputs.get("name"), *map(resource.state.outputs.get, _IDENTITIES)]
    return (each for each in values if isinstance(each, str) and each and not hidden(each))
