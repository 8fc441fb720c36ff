"""From the engine's records to the steps of a preview: one for each resource, and one more where AWS has drifted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.observed.resources.paths import list_differences
from multiarch.observed.resources.properties import Properties
from multiarch.review.model import Operation, State, Step

_OPERATIONS = {
    "same": Operation.SAME,
    "create": Operation.CREATE,
    "update": Operation.UPDATE,
    "delete": Operation.DELETE,
    "replace": Operation.REPLACE,
    "create-replacement": Operation.REPLACE,
    "delete-replaced": Operation.REPLACE,
    "import": Operation.IMPORT,
    "import-replacement": Operation.REPLACE,
    "read": Operation.READ,
    "read-replacement": Operation.READ,
    # A resource that was only read leaves the state; nothing happens to it.
    "discard": Operation.READ,
    "read-discard": Operation.READ,
    "discard-replaced": Operation.READ,
}
"""The engine's operations. Source: github.com/pulumi/pulumi, sdk/go/common/display/events.go."""
_REFRESH = "refresh"
_DELETES = "delete-replaced"
_CREATES = ("create-replacement", "import-replacement")
_IGNORED = frozenset({"remove-pending-replace"})
"""Changes the state alone: an interrupted update has deleted the resource already."""
_INTERNAL = "__"
"""Begins the properties that providers keep for themselves: ``__defaults``, ``__meta``."""


@dataclass(slots=True)
class Record:
    """One step as the engine wrote it. ``old`` and ``new`` are states as JSON, ``detailed`` is its detailed diff.

    ``diffs`` and ``keys`` are the top-level properties that differ and those that force a replacement.
    """

    operation: str
    urn: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None
    detailed: Mapping[str, Any] = field(default_factory=dict)
    diffs: Sequence[str] = ()
    keys: Sequence[str] = ()


@dataclass(slots=True)
class _Found:
    """What is known of a resource so far, and in which order a replacement ``deletes`` and ``creates``."""

    operation: Operation
    urn: str
    parent: str = ""
    old: State | None = None
    new: State | None = None
    detailed: Mapping[str, Any] = field(default_factory=dict)
    diffs: Sequence[str] = ()
    keys: Sequence[str] = ()
    deletes: int | None = None
    creates: int | None = None
    only_deletes: bool = True

    def take(self, record: Record, number: int) -> None:
        """Add what a record says; a replacement has up to three records."""
        self.old = self.old or _state(record.old)
        if record.operation != _DELETES and self.new is None:
            self.new = self.old if record.new == record.old else _state(record.new)
        self.parent = self.parent or _parent(record)
        self.detailed = self.detailed or record.detailed
        self.diffs = self.diffs or record.diffs
        self.keys = self.keys or record.keys
        self.only_deletes = self.only_deletes and record.operation == _DELETES
        if record.operation == _DELETES:
            self.deletes = number
        elif record.operation in _CREATES:
            self.creates = number

    @property
    def deletes_first(self) -> bool | None:
        """Whether a replacement deletes first, by the order of its records."""
        return None if self.creates is None or self.deletes is None else self.deletes < self.creates

    def step(self) -> Step:
        """Return the step of the resource."""
        operation = self.operation
        if operation is Operation.REPLACE and self.only_deletes:
            # The rest of a replacement that an earlier update did not finish.
            operation = Operation.DELETE
        if operation is Operation.DELETE and self.old is not None and self.old.retain_on_delete:
            operation = Operation.FORGET
        type_, name = _type_and_name(self.urn)
        replaced = operation is Operation.REPLACE
        return Step(
            operation,
            self.urn,
            type_,
            name,
            self.parent,
            self.old,
            None if operation in {Operation.DELETE, Operation.FORGET} else self.new,
            tuple(sorted(self.detailed or self.diffs)),
            self._causes() if replaced else (),
            self.deletes_first if replaced else None,
        )

    def _causes(self) -> tuple[str, ...]:
        return tuple(
            sorted(path for path, kind in self.detailed.items() if kind.endswith("-replace")) or sorted(self.keys)
        )


class Steps:
    """Collects records in the engine's order. States are converted at once: a preview's JSON is large."""

    def __init__(self) -> None:
        """No records yet."""
        self._found: dict[tuple[str, Operation], _Found] = {}
        self._refreshed: dict[str, _Found] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return the number of records so far."""
        return self._count

    def add(self, record: Record) -> None:
        """Take one record. Raises MultiarchError for an operation that is not known."""
        self._count += 1
        if record.operation in _IGNORED:
            return
        if record.operation == _REFRESH:
            self._refresh(record)
            return
        if record.operation not in _OPERATIONS:
            raise MultiarchError(
                f"Unknown operation {record.operation!r} of {record.urn}.",
                hint="This version of multiarch does not know the engine that wrote the preview. Update multiarch.",
            )
        operation = _OPERATIONS[record.operation]
        key = (record.urn, operation)
        if key not in self._found:
            self._found[key] = _Found(operation, record.urn)
        self._found[key].take(record, self._count)

    def _refresh(self, record: Record) -> None:
        found = self._refreshed.get(record.urn)
        if found is None:
            found = self._refreshed[record.urn] = _Found(
                Operation.SAME, record.urn, _parent(record), _state(record.old)
            )
        found.new = found.old if record.new == record.old else _state(record.new)

    def __iter__(self) -> Iterator[Step]:
        """Yield all steps, each resource's drift before its own step."""
        left = dict(self._refreshed)
        for (urn, _), found in self._found.items():
            if (refreshed := left.pop(urn, None)) is not None:
                yield from _drift(refreshed, found.old)
            yield found.step()
        for refreshed in left.values():
            yield from _drift(refreshed, refreshed.new)
            if refreshed.new is not None:
                refreshed.old = refreshed.new
                yield refreshed.step()


def _drift(refreshed: _Found, later: State | None) -> Iterator[Step]:
    """Yield what a refresh found out. ``later`` is the state before the resource's own step.

    A JSON preview has the state after the refresh there alone.
    """
    old, new = refreshed.old, refreshed.new
    if old is None:
        return
    if new is not None and _same(old, new):
        new = later
    if new is not None and _same(old, new):
        return
    changed: set[str] = set()
    if new is not None:
        changed = {*list_differences(old.inputs, new.inputs), *list_differences(old.outputs, new.outputs)}
    type_, name = _type_and_name(refreshed.urn)
    yield Step(Operation.DRIFT, refreshed.urn, type_, name, refreshed.parent, old, new, tuple(sorted(changed)))


def _same(old: State, new: State) -> bool:
    return old is new or (old.inputs == new.inputs and old.outputs == new.outputs)


def _state(written: Mapping[str, Any] | None) -> State | None:
    if written is None:
        return None
    inputs = {
        key: _public(value) for key, value in _mapping(written, "inputs").items() if not key.startswith(_INTERNAL)
    }
    outputs = {key: value for key, value in _mapping(written, "outputs").items() if not key.startswith(_INTERNAL)}
    return State(
        inputs,
        outputs,
        str(written.get("id") or ""),
        protect=bool(written.get("protect")),
        retain_on_delete=bool(written.get("retainOnDelete")),
        dependencies={
            name: tuple(str(urn) for urn in urns)
            for name, urns in _mapping(written, "propertyDependencies").items()
            if isinstance(urns, list) and urns
        },
    )


def _mapping(written: Mapping[str, Any], key: str) -> Properties:
    value = written.get(key) or {}
    if not isinstance(value, Mapping):
        raise MultiarchError(f"{key} of {written.get('urn')} must be a JSON object.")
    return value


def _public(value: Any) -> Any:  # noqa: ANN401  (any JSON value)
    """Return the value without what providers keep for themselves in it."""
    if isinstance(value, dict):
        return {key: _public(inner) for key, inner in value.items() if not key.startswith(_INTERNAL)}
    if isinstance(value, list):
        return [_public(inner) for inner in value]
    return value


def _parent(record: Record) -> str:
    for state in (record.new, record.old):
        if state is not None and state.get("parent"):
            return str(state["parent"])
    return ""


def _type_and_name(urn: str) -> tuple[str, str]:
    """Return the type token and the name: ``urn:pulumi:STACK::PROJECT::PARENT$TYPE::NAME``."""
    types, _, name = urn.partition("::")[2].partition("::")[2].partition("::")
    return types.rpartition("$")[2], name
