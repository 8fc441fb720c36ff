"""Results as JSON: one way for every dataclass, so that no command copies fields.

An object has the fields of its dataclass, in camelCase, and its properties that are a :class:`JsonProperty`. A field
whose metadata is OMITTED is not shown; the fields of one that is INLINED stand in its place. A class whose JSON is not
its fields has a method ``to_json``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar, overload

Result = TypeVar("Result")
_KEY = "json"
OMITTED: Mapping[str, str] = MappingProxyType({_KEY: "omitted"})
"""The metadata of a field that JSON does not show."""
INLINED: Mapping[str, str] = MappingProxyType({_KEY: "inlined"})
"""The metadata of a field whose own fields JSON shows in its place; nothing where it is None."""
_DECIMALS = 6


class JsonProperty(Generic[Result]):
    """A property that JSON shows with the fields of its class."""

    def __init__(self, compute: Callable[[Any], Result]) -> None:
        """``compute`` is the method that it decorates."""
        self._compute = compute
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Result: ...
    def __get__(self, instance: object | None, owner: type) -> Result | Self:
        """Return the value of the property, or the property itself for a class."""
        return self if instance is None else self._compute(instance)


def to_json(value: object) -> Any:  # noqa: ANN401 (what json.dumps takes)
    """Return a value as ``json.dumps`` takes it. Raises TypeError for a value that has no JSON.

    Amounts (Decimal) are strings with at most six decimals, times are in UTC, enums are their text or else their name
    in lower case, sets are sorted.
    """
    if isinstance(value, Enum):
        return str(value) if isinstance(value, str) else value.name.lower()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Decimal):
        return f"{round(value, _DECIMALS).normalize():f}"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, date | PurePath):
        return str(value)
    return _structure(value)


def _structure(value: object) -> Any:  # noqa: ANN401 (as above)
    own: Callable[[], object] | None = getattr(value, "to_json", None)
    if own is not None:
        return to_json(own())
    if is_dataclass(value) and not isinstance(value, type):
        return _fields_of(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {convert_to_camel_case(name): to_json(each) for name, each in value._asdict().items()}
    if isinstance(value, AbstractSet):
        return sorted(map(to_json, value))
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [to_json(each) for each in value]
    raise TypeError(f"{type(value).__name__} has no JSON")


def _fields_of(value: Any) -> dict[str, Any]:  # noqa: ANN401 (a dataclass)
    shown: dict[str, Any] = {}
    for name, key in _list_shown(value.__class__):
        each = to_json(getattr(value, name))
        if key is not None:
            shown[key] = each
        else:
            shown |= each or {}
    return shown


@cache
def _list_shown(of: Any) -> tuple[tuple[str, str | None], ...]:  # noqa: ANN401 (a dataclass)
    """Return the fields and properties that JSON shows, with their keys there; None for those that are inlined."""
    inlined = [each.name for each in fields(of) if each.metadata.get(_KEY) == INLINED[_KEY]]
    names = [each.name for each in fields(of) if each.metadata.get(_KEY) != OMITTED[_KEY]]
    for owner in reversed(of.__mro__):
        names += [name for name, member in vars(owner).items() if isinstance(member, JsonProperty)]
    return tuple((name, None if name in inlined else convert_to_camel_case(name)) for name in names)


def convert_to_camel_case(name: str) -> str:
    """Return a field's name as JSON writes it: ``nodeGroups`` for ``node_groups``."""
    first, *others = name.strip("_").split("_")
    return first + "".join(each.capitalize() for each in others)
