"""What AWS has in place of what was wanted: the state after a read, compared as the real provider compares it.

The real provider compares the state after a refresh with the inputs, attribute by attribute. An attribute that is
optional and computed and that the program omits keeps what AWS has; any other one that the program omits has to be
empty, or have its default. Upstream: hashicorp/terraform-plugin-sdk, ``helper/schema/schema.go`` (``diffString``),
and hashicorp/terraform-provider-aws, ``internal/tags`` for the tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sandbox.providers.aws.rows import Row
from sandbox.providers.values import UNKNOWN, Record, Value, same_value

_OMITTED: Final = object()


def seen(row: Row, inputs: Record, live: Record) -> Record:
    """Return the inputs as AWS has them; those that ``live`` does not have can't be read and stay."""
    found = dict(inputs)
    for name in row.known_inputs() & set(live):
        _put(found, name, _seen(row, name, inputs.get(name, _OMITTED), live[name]))
    if "tagsAll" in live and "tagsAll" in inputs:
        found["tagsAll"] = live["tagsAll"]
        default = set(inputs["tagsAll"]) - set(inputs.get("tags", {}))
        own = {key: value for key, value in live["tagsAll"].items() if key not in default}
        _put(found, "tags", own if own or "tags" in inputs else _OMITTED)
    return found


def completed(row: Row, new: Value, old: Value, path: str = "") -> Value:
    """Return new inputs with the old values of what they omit and what is optional and computed."""
    if not isinstance(new, Mapping) or not isinstance(old, Mapping):
        return new
    found = {key: completed(row, new[key], old[key], _inner(path, key)) if key in old else new[key] for key in new}
    kept = (key for key in old if key not in new and row.is_computed(_inner(path, key)))
    return {**found, **{key: old[key] for key in kept}}


def _put(values: Record, name: str, value: Value) -> None:
    if value is _OMITTED:
        values.pop(name, None)
    else:
        values[name] = value


def _inner(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _seen(row: Row, path: str, wanted: Value, live: Value) -> Value:
    if wanted is _OMITTED:
        usual = not live or same_value(row.defaults.get(path), live)
        return _OMITTED if usual or row.is_computed(path) else live
    if wanted == UNKNOWN or same_value(wanted, live) or (not wanted and not live):
        return wanted
    if live is None:
        return _OMITTED
    if isinstance(wanted, Mapping) and isinstance(live, list) and len(live) == 1:
        live = live[0]
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        found: Record = dict(wanted)
        for key in {**wanted, **live}:
            # What an answer omits inside a structure has its default.
            _put(found, key, _seen(row, _inner(path, key), wanted.get(key, _OMITTED), live.get(key, wanted.get(key))))
        return found
    if isinstance(wanted, list) and isinstance(live, list):
        return _in_order(row, path, wanted, live)
    return live


def _in_order(row: Row, path: str, wanted: list[Value], live: list[Value]) -> list[Value]:
    """Return a list in the order of the wanted one; an item without an equal one takes the first that is left."""
    left, found = list(live), []
    for item in wanted:
        first = left[0] if left else None
        match = next((each for each in left if _seen(row, path, item, each) == item), first)
        if match is not None:
            left.remove(match)
            found.append(_seen(row, path, item, match))
    return [*found, *left]
