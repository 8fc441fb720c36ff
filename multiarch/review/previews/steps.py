"""From the engine's records to the steps of a preview: one for each resource, and one more where AWS has drifted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

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
_Value = TypeVar("_Value")


@dataclass(slots=True)
class Record:
    """One step as the engine wrote it, and its states, which are converted at once: a preview's JSON is large.

    ``detailed`` has the kind of difference by path. ``diffs`` and ``keys`` are the top-level properties that differ and
    those that force a replacement.
    """

    operation: str
    urn: str
    parent: str
    old: State | None
    new: State | None
    detailed: Mapping[str, str] = field(default_factory=dict)
    diffs: Sequence[str] = ()
    keys: Sequence[str] = ()


def read_states(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> tuple[str, State | None, State | None]:
    """Return the parent and both states of a step. Raises MultiarchError for a part of one that is not an object."""
    before = _state(old)
    parent = next((str(each["parent"]) for each in (new, old) if each and each.get("parent")), "")
    return parent, before, before if new == old else _state(new)


class Steps:
    """Collects records in the engine's order."""

    def __init__(self) -> None:
        """No records yet."""
        self._found: dict[tuple[str, Operation], list[Record]] = {}
        self._refreshed: dict[str, Record] = {}

    def add(self, record: Record) -> None:
        """Take one record. Raises MultiarchError for an operation that is not known."""
        if record.operation in _IGNORED:
            return
        if record.operation == _REFRESH:
            self._refreshed.setdefault(record.urn, record).new = record.new
            return
        if record.operation not in _OPERATIONS:
            raise MultiarchError(
                f"Unknown operation {record.operation!r} of {record.urn}.",
                hint="This version of multiarch does not know the engine that wrote the preview. Update multiarch.",
            )
        self._found.setdefault((record.urn, _OPERATIONS[record.operation]), []).append(record)

    def __iter__(self) -> Iterator[Step]:
        """Yield all steps, each resource's drift before its own step."""
        left = dict(self._refreshed)
        for (urn, operation), records in self._found.items():
            if (refreshed := left.pop(urn, None)) is not None:
                yield from _drift(refreshed, _first(each.old for each in records))
            yield _build_step(operation, records)
        for refreshed in left.values():
            yield from _drift(refreshed, refreshed.new)
            if refreshed.new is not None:
                same = replace(refreshed, old=refreshed.new, detailed={}, diffs=())
                yield _build_step(Operation.SAME, [same])


def _first(values: Iterable[_Value | None]) -> _Value | None:
    return next((each for each in values if each), None)


def _build_step(operation: Operation, records: Sequence[Record]) -> Step:
    """Return the step of a resource; a replacement has up to three records."""
    kinds = [each.operation for each in records]
    old = _first(each.old for each in records)
    if operation is Operation.REPLACE and {*kinds} == {_DELETES}:
        # The rest of a replacement that an earlier update did not finish.
        operation = Operation.DELETE
    if operation is Operation.DELETE and old is not None and old.retain_on_delete:
        operation = Operation.FORGET
    type_, name = _type_and_name(records[0].urn)
    detailed, diffs = _first(each.detailed for each in records) or {}, _first(each.diffs for each in records) or ()
    causes: Sequence[str] = ()
    deletes_first = None
    if operation is Operation.REPLACE:
        causes = [path for path, kind in detailed.items() if kind.endswith("-replace")]
        causes = causes or _first(each.keys for each in records) or ()
        order = [kind == _DELETES for kind in kinds if kind in (_DELETES, *_CREATES)]
        deletes_first = order[0] if len({*order}) > 1 else None
    return Step(
        operation,
        records[0].urn,
        type_,
        name,
        _first(each.parent for each in records) or "",
        old,
        None
        if operation in {Operation.DELETE, Operation.FORGET}
        else _first(each.new for each in records if each.operation != _DELETES),
        tuple(sorted(detailed or diffs)),
        tuple(sorted(causes)),
        deletes_first,
    )


def _drift(refreshed: Record, later: State | None) -> Iterator[Step]:
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


def _type_and_name(urn: str) -> tuple[str, str]:
    """Return the type token and the name: ``urn:pulumi:STACK::PROJECT::PARENT$TYPE::NAME``."""
    types, _, name = urn.partition("::")[2].partition("::")[2].partition("::")
    return types.rpartition("$")[2], name
