"""Between Pulumi's property values and plain Python: numbers, secrets, and what is not known yet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pulumi.provider.experimental.property_value import Computed, PropertyValue, ResourceReference
from pulumi.runtime.rpc import UNKNOWN as _WIRE_UNKNOWN

from sandbox.providers import StandInError

Value = Any
"""A plain property value: string, number, boolean, list, map, None."""

Record = dict[str, Value]

UNKNOWN: Final[str] = _WIRE_UNKNOWN
"""Stands for a value that a preview can't know; Pulumi sends it as this string."""

INPUTS: Final = "__inputs"
"""Where a resource's state keeps its inputs: Diff and Update are not told the old ones. Programs do not see the key."""

GENERATION: Final = "__generation"
"""How often the resource was replaced, kept in inputs and state."""


def plain(value: PropertyValue) -> Value:
    """Convert a property value: whole numbers to int, secrets opened, assets rejected, unknown to :data:`UNKNOWN`."""
    inner = value.value
    if isinstance(inner, Computed):
        return UNKNOWN
    if isinstance(inner, bool) or inner is None or isinstance(inner, str):
        return inner
    if isinstance(inner, float):
        return int(inner) if inner.is_integer() else inner
    if isinstance(inner, ResourceReference):
        return inner.urn if inner.resource_id is None else plain(inner.resource_id)
    if isinstance(inner, Mapping):
        return plain_map(inner)
    if isinstance(inner, Sequence):
        return [plain(item) for item in inner if isinstance(item, PropertyValue)]
    raise StandInError(f"the sandbox's stand-ins take no {type(inner).__name__}")


def plain_map(values: Mapping[str, PropertyValue]) -> Record:
    """Return all set properties as Python; those that are null mean not set and are omitted, at every depth."""
    return {key: plain(value) for key, value in values.items() if value.value is not None}


def secret_keys(values: Mapping[str, PropertyValue]) -> frozenset[str]:
    """Return names of the properties that hold a secret anywhere inside."""
    return frozenset(key for key, value in values.items() if value.contains_secret())


def wrap(value: Value) -> PropertyValue:
    """Return Python as a property value."""
    if value is None or isinstance(value, (bool, str, float)):
        return PropertyValue(value)
    if isinstance(value, int):
        return PropertyValue(float(value))
    if isinstance(value, Mapping):
        return PropertyValue({str(key): wrap(item) for key, item in value.items()})
    if isinstance(value, Iterable):
        return PropertyValue([wrap(item) for item in value])
    raise StandInError(f"cannot hand {type(value).__name__} to Pulumi")


def wrap_map(values: Mapping[str, Any], secrets: frozenset[str] = frozenset()) -> dict[str, PropertyValue]:
    """Wrap properties, sorted; those named in ``secrets`` are secret, inside the kept inputs too."""
    wrapped: dict[str, PropertyValue] = {}
    for key in sorted(values):
        if key == INPUTS:
            wrapped[key] = PropertyValue(wrap_map(values[key], secrets))
        else:
            wrapped[key] = wrap(values[key]).with_secret(key in secrets)
    return wrapped


def has_unknown(value: Value) -> bool:
    """Return whether a value holds :data:`UNKNOWN` anywhere inside."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return isinstance(value, str) and value == UNKNOWN


def merged(live: Value, wanted: Value) -> Value:
    """Return live values with the wanted ones on top, maps inside maps too: what a resource's state shows."""
    if isinstance(live, Mapping) and isinstance(wanted, Mapping):
        return {
            key: merged(live[key], wanted[key]) if key in live and key in wanted else {**live, **wanted}[key]
            for key in {**live, **wanted}
        }
    return wanted


def same_value(wanted: Value, live: Value) -> bool:
    """Compare as text, or as JSON: AWS keeps documents in its own layout or opened, and numbers as text."""
    return str(wanted) == str(live) or _opened(wanted) == _opened(live)


def _opened(value: Value) -> Value:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def unknown_at(values: Record, path: str) -> None:
    """Set a property path to :data:`UNKNOWN` if it is unset."""
    head, _, rest = path.partition(".")
    if not rest:
        values.setdefault(head, UNKNOWN)
    elif isinstance(values.get(head, {}), Mapping):
        values[head] = dict(values.get(head, {}))
        unknown_at(values[head], rest)
