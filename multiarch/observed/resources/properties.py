"""Values of a resource's properties, of which some are secrets, or known only after the update.

A reader that reports what it knows takes such a value as missing (:func:`get_value`); one that decides takes it as
undecided (:func:`require_value`); one that compares both sides says why it can't be read (:func:`require_string`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from multiarch.facts.unknown_values import UNKNOWN_VALUES
from multiarch.observed.resources.paths import MISSING, SECRET, UNKNOWN, get_value_at, split_path

Properties = Mapping[str, Any]
"""Property values as JSON. Secrets are ``SECRET``, values that the engine does not know yet are ``UNKNOWN``."""

_MAXIMUM_LENGTH = 200_000  # characters; the longest policy that AWS takes (of a KMS key) is 32 KiB
LATER, HIDDEN = "is known only after the update", "is a secret"
_Read = TypeVar("_Read")


class UndecidedError(Exception):
    """A value that decides is known only after the update; its path is the message."""


def get_value(properties: Properties, path: str) -> object:
    """Return the value at a path such as ``scalingConfig.maxSize``.

    None if it is missing, unknown or a secret, or has a part that is.
    """
    value = get_value_at(properties, path)
    return value if value is not MISSING and _is_known(value) else None


def is_unknown(properties: Properties, path: str) -> bool:
    """Return whether a value at a path is known only during the update, or a secret, in whole or in part."""
    return not _is_known(get_value_at(properties, path))


def _is_known(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_known, value.values()))
    if isinstance(value, list):
        return all(map(_is_known, value))
    return not isinstance(value, str) or (value != SECRET and value not in UNKNOWN_VALUES)


def require_value(holder: Any, path: str) -> Any:  # noqa: ANN401  (any property)
    """Return the value at a path, or None. Raises UndecidedError if it, or what holds it, is not known yet."""
    value = get_value_at(holder, path) if isinstance(holder, Mapping) else MISSING
    if isinstance(value, str) and value in UNKNOWN_VALUES:
        raise UndecidedError(path)
    return None if value is MISSING else value


def read_known(read: Callable[[Properties], _Read], properties: Properties) -> _Read | None:
    """Return what ``read`` finds; None if it is known only after the update."""
    try:
        return read(properties)
    except UndecidedError:
        return None


def require_items(holder: Any, path: str) -> list[Any]:  # noqa: ANN401
    """Return the list at a path; empty where there is none, and one item for a value that is not a list."""
    found = require_value(holder, path)
    listed = list_values(found)
    if any(isinstance(item, str) and item in UNKNOWN_VALUES for item in listed):
        raise UndecidedError(path)
    return listed


def require_text(holder: Any, path: str) -> str:  # noqa: ANN401
    """Return the string at a path, empty where there is none; booleans and numbers as JSON writes them."""
    found = require_value(holder, path)
    if isinstance(found, bool):
        return str(found).lower()
    return "" if found is None else str(found)


def is_on(holder: Any, path: str) -> bool:  # noqa: ANN401
    """Return whether a switch is on: ``true``, or the string "true" of providers that write booleans as strings."""
    return require_text(holder, path).lower() == "true"


def list_values(value: object) -> list[Any]:
    """Return the elements of a list; of any other value itself, of None nothing."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def parse_json(value: object) -> Any:  # noqa: ANN401  (any JSON value)
    """Return what a string holds that is an object as JSON, if it is not too long; any other value itself."""
    if isinstance(value, str) and value.lstrip().startswith("{") and len(value) <= _MAXIMUM_LENGTH:
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def get_hidden_reason(value: object) -> str:
    """Return why a value is not what AWS will get, as a predicate; empty where it is."""
    if isinstance(value, str):
        return LATER if UNKNOWN in value else HIDDEN if SECRET in value else ""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return next(filter(None, map(get_hidden_reason, parts)), "")


def list_values_at(properties: Properties, path: str) -> list[object]:
    """Return the values at a path, also through lists and strings of JSON; at least one, None for one that is not set.

    What is hidden is the value of everything below it.
    """
    values: list[object] = [properties]
    for name in map(str, split_path(path)):
        inner = [each for value in values for each in (list_values(parse_json(value)) or [None])]
        values = [
            each.get(name) if isinstance(each, Mapping) else (get_hidden_reason(each) and each) or None
            for each in inner
        ]
    return values


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


def get_string_at(properties: Properties, path: str) -> str | None:
    """Return a string at a path, or None."""
    value = get_value(properties, path)
    return value if isinstance(value, str) and value else None


def get_integer_at(properties: Properties, path: str) -> int | None:
    """Return a whole number at a path, or None."""
    return to_integer(get_value(properties, path))


def to_integer(value: object) -> int | None:
    """Return a value as a whole number, or None. The engine writes some providers' numbers as strings or as ``3.0``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) else None


def list_entries(properties: Properties, path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list at a path."""
    found = get_value(properties, path)
    yield from (each for each in found if isinstance(each, Mapping)) if isinstance(found, list) else ()
