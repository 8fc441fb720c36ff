"""A resource as a program declares it: what a rendering records, and what policies judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from multiarch.observed.resources.properties import Properties
from multiarch.serialization import OMITTED


@dataclass(frozen=True, slots=True)
class DeclaredResource:
    """A resource as the engine knows it before it is created or changed.

    ``parent`` is the URN of another resource, empty for the stack's own. ``inputs`` are JSON values by the provider's
    names. ``ignore_changes`` are property paths. ``references`` are the URNs that each property depends on;
    ``dependencies`` those of all properties together.
    """

    urn: str
    parent: str
    type: str
    name: str
    inputs: Properties = field(metadata=OMITTED)
    ignore_changes: tuple[str, ...] = field(default=(), metadata=OMITTED)
    dependencies: frozenset[str] = field(default=frozenset(), metadata=OMITTED)
    references: Mapping[str, frozenset[str]] = field(default_factory=dict, metadata=OMITTED)
