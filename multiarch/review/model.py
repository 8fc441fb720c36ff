"""The values of a review: what the engine would do, what a reviewer has to know of it, and how much it matters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum

from multiarch.observed.resources.properties import Properties
from multiarch.prices.model import PriceList
from multiarch.rules import Finding
from multiarch.scheduling.pods import Pod
from multiarch.serialization import OMITTED
from multiarch.stack.model import Plan


class Operation(StrEnum):
    """What the engine would do with a resource. The engine's other operations are translated into these when read."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    IMPORT = "import"
    READ = "read"
    FORGET = "forget"
    """Removed from the state and left alone in AWS (``retainOnDelete``, ``state delete``)."""
    DRIFT = "drift"
    """Changed in AWS since the last update: a refresh found values that differ from the state."""
    SAME = "same"


@dataclass(frozen=True, slots=True)
class State:
    """A resource before or after the change. ``id`` is empty before it exists.

    ``dependencies`` are the URNs of the resources that a property's value comes from; the event log has none.
    """

    inputs: Properties
    outputs: Properties
    id: str = ""
    protect: bool = False
    retain_on_delete: bool = False
    dependencies: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """What the engine would do with one resource.

    ``type`` is Pulumi's token (``aws:eks/nodeGroup:NodeGroup``), ``name`` the last part of the URN, ``parent`` a URN or
    empty. ``old`` is None for what does not exist yet, ``new`` for what is deleted. ``changed`` are paths of
    properties (``scalingConfig.maxSize``, ``instanceTypes[0]``), ``causes`` those that force a replacement, both
    sorted. ``deletes_first``: whether a replacement deletes the old resource before it creates the new one; None where
    the preview does not say (``pulumi preview --json`` has no order, the event log has).
    """

    operation: Operation
    urn: str
    type: str
    name: str
    parent: str
    old: State | None
    new: State | None
    changed: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    deletes_first: bool | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """One preview of one stack. ``source`` names the file it was read from, for messages.

    ``steps`` are in the engine's order and include SAME. ``errors`` and ``warnings`` are the engine's and the
    program's diagnostics, without their prefix. ``succeeded`` is False for a preview that ended with an error.
    Without a preview (only the stack files differ) ``source`` is empty, and ``succeeded`` is False.
    """

    stack: str
    project: str
    source: str
    steps: tuple[Step, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    succeeded: bool

    @property
    def is_complete(self) -> bool:
        """Whether it shows every resource that changes; False for one that failed, or without a preview."""
        return self.succeeded and bool(self.steps)


@dataclass(frozen=True, slots=True)
class StackVersion:
    """The stack file and its plan on one side of the change. ``plan`` is None if ``problem`` says why there is none.

    ``objects`` are those of rebalancing in the cluster; ``values`` what the file sets, with the defaults, by key.
    """

    file: str
    plan: Plan | None = field(metadata=OMITTED)
    problem: str = ""
    objects: tuple[Properties, ...] = field(default=(), metadata=OMITTED)
    values: Properties = field(default_factory=dict, metadata=OMITTED)


@dataclass(frozen=True, slots=True)
class StackChange:
    """Everything that is known of one stack's change. ``before`` is None for a new stack, ``after`` for a deleted one.

    Both are None where no stack file was given: then only the preview speaks. ``pods`` are those of the given
    manifests; with them, findings name workloads. ``prices`` give amounts; those older than a week are named.
    Costs that rise by more than ``cost_threshold`` per month, in the prices' currency, are a finding.
    """

    preview: Preview
    before: StackVersion | None
    after: StackVersion | None
    today: date
    pods: tuple[Pod, ...] = ()
    prices: PriceList | None = None
    cost_threshold: Decimal = Decimal(100)

    @property
    def plans(self) -> tuple[Plan, Plan] | None:
        """The plan before and the plan after the change; None unless both are known."""
        old = self.before.plan if self.before else None
        new = self.after.plan if self.after else None
        return (old, new) if old is not None and new is not None else None


Finder = Callable[[StackChange], Iterator[Finding]]
"""Yields what it finds in a change, in the order of the preview's steps."""
