"""A policy, the resources that it looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multiarch.facts.unknown_values import UNKNOWN_VALUES
from multiarch.rules import RULES, Rule


class UndecidedError(Exception):
    """A value that the policy needs is known only after the update; ``path`` names it."""

    def __init__(self, path: str) -> None:
        """Keep the property's path, such as ``vpcConfig.publicAccessCidrs``."""
        super().__init__(path)
        self.path = path


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as the engine knows it before it is created or changed.

    ``properties`` are JSON values by the provider's names. ``ignore_changes`` are property paths. ``references`` are
    the URNs that each property depends on; ``dependencies`` those of all properties together.
    """

    urn: str
    type: str
    name: str
    properties: Mapping[str, Any]
    ignore_changes: tuple[str, ...] = ()
    dependencies: frozenset[str] = frozenset()
    references: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Violation:
    """A resource that violates a policy. ``message`` is one sentence. ``undecided``: the update will show it."""

    rule: str
    urn: str
    message: str
    undecided: bool = False


Check = Callable[[Resource, Sequence[Resource]], Iterator[str]]
"""Sentences about one resource. The second argument are all resources of the stack: those of ``whole_stack`` policies
alone may look at it. Raises UndecidedError for a value that is not known yet."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy: a rule, the resource types that it looks at, and the function that examines one of them.

    ``whole_stack``: it looks at other resources of the stack too. A rule may have several policies.
    """

    rule: str
    types: frozenset[str]
    examine: Check
    whole_stack: bool = False

    @property
    def row(self) -> Rule:
        """The rule's name, severity and way out."""
        return RULES[self.rule]


def check(policy: Policy, resources: Iterable[Resource]) -> Iterator[Violation]:
    """What violates ``policy`` among all resources of a stack, in their order."""
    everything = tuple(resources)
    for resource in everything:
        if resource.type not in policy.types:
            continue
        try:
            for sentence in policy.examine(resource, everything):
                yield Violation(policy.rule, resource.urn, sentence)
        except UndecidedError as error:
            yield Violation(policy.rule, resource.urn, f"{error.path} is known only after the update.", undecided=True)


def value(holder: Any, path: str) -> Any:  # noqa: ANN401  (any property)
    """The value at ``path``, keys with dots between; None where there is none.

    Raises UndecidedError if it, or what holds it, is not known yet.
    """
    for key in path.split("."):
        if not isinstance(holder, Mapping):
            return None
        holder = holder.get(key)
        if isinstance(holder, str) and holder in UNKNOWN_VALUES:
            raise UndecidedError(path)
    return holder


def items(holder: Any, path: str) -> list[Any]:  # noqa: ANN401
    """The list at ``path``; empty where there is none, and one item for a value that is not a list."""
    found = value(holder, path)
    listed = list(found) if isinstance(found, list | tuple) else [] if found is None else [found]
    if any(isinstance(item, str) and item in UNKNOWN_VALUES for item in listed):
        raise UndecidedError(path)
    return listed


def text(holder: Any, path: str) -> str:  # noqa: ANN401
    """The text at ``path``, empty where there is none; booleans and numbers as JSON writes them."""
    found = value(holder, path)
    if isinstance(found, bool):
        return str(found).lower()
    return "" if found is None else str(found)


def is_on(holder: Any, path: str) -> bool:  # noqa: ANN401
    """Whether a switch is on: ``true``, or the text "true" of providers that write booleans as text."""
    return text(holder, path).lower() == "true"
