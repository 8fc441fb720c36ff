"""A policy, the resources that it looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.properties import UndecidedError
from multiarch.rules import RULES, Finding, Rule

Check = Callable[[DeclaredResource, Sequence[DeclaredResource]], Iterator[str]]
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
        """The rule's name, severity and fix."""
        return RULES[self.rule]


def check_policy(policy: Policy, resources: Iterable[DeclaredResource]) -> Iterator[Finding]:
    """Yield what violates ``policy`` among all resources of a stack, in their order.

    A value that is known only after the update is checked in the update, where the policy sees it.
    """
    everything = tuple(resources)
    for resource in everything:
        if resource.type in policy.types:
            subject = f"{resource.type.rpartition(':')[2]} {resource.name}"
            with suppress(UndecidedError):
                for sentence in policy.examine(resource, everything):
                    yield Finding(policy.row, subject, sentence, urns=(resource.urn,))
