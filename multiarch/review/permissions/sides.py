"""A resource on one side of a change, the resources that it names, and values that are not known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from multiarch.observed.resources.paths import SECRET, UNKNOWN
from multiarch.observed.resources.properties import Properties, get_string_at
from multiarch.review.model import State, Step

LATER, HIDDEN = "is known only after the update", "is a secret"
CLUSTER = "aws:eks/cluster:Cluster"
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ABBREVIATIONS = frozenset({"ecr", "efs", "eks", "iam", "kms", "s3", "sns", "sqs"})


class GrantOwner(NamedTuple):
    """Who has permissions: the subject of findings, and the property that names it, empty for the resource itself."""

    subject: str
    property: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One resource on one side."""

    step: Step
    state: State

    @property
    def type(self) -> str:
        """The type."""
        return self.step.type

    @property
    def inputs(self) -> Properties:
        """What the program declares."""
        return self.state.inputs

    @property
    def subject(self) -> str:
        """The kind and the name, for people: ``IAM role cluster``. A cluster has the name that AWS knows."""
        return (
            f"{name_kind(self.type)} {(self.type == CLUSTER and get_string_at(self.inputs, 'name')) or self.step.name}"
        )

    def name_reference(self, name: str, of: str, value: object) -> str:
        """Return what a value names: the subject of the resource of this stack that it comes from, else the value.

        ``name`` is the property that has the value. Raises ValueError for one that is not known.
        """
        sources = [each for each in self.state.dependencies.get(name, ()) if f"{of}::" in each]
        is_alone = of != CLUSTER and list_values(self.inputs.get(name)) == [value]
        if len(sources) == 1 and (is_alone or get_hidden_reason(value)):
            return f"{name_kind(of)} {sources[0].rpartition('::')[2]}"
        kind = name_kind(of)
        return require_string(value, f"{'an' if kind[0] in 'aeiouIE' else 'a'} {kind}")

    def name_resource(self, name: str, of: str, value: object) -> str:
        """Return the same with the kind of its type ``of``, of an ARN with its last part alone."""
        found, kind = self.name_reference(name, of, value), name_kind(of)
        return found if found.startswith(f"{kind} ") else f"{kind} {found.rpartition('/')[2]}"

    def find_owner(self, name: str, of: str, value: object) -> GrantOwner:
        """Return the owner of what this resource gives to the one that a value names."""
        try:
            return GrantOwner(self.name_resource(name, of, value), name)
        except ValueError:
            return GrantOwner(f"{name_kind(of)} of {self.subject}", name)


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
