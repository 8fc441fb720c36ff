"""Pulumi's property values as arguments of an AWS operation, led by botocore's model of the operation.

The model knows every name and type: ``cidrBlock`` finds ``CidrBlock``, the text ``"true"`` becomes the boolean an EBS
mapping wants, a single value the list of one. A name the model does not have is an error, so nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.providers import StandInError
from sandbox.providers.values import Value


def arguments(shape: Value, values: Mapping[str, Value], where: str) -> dict[str, Value]:
    """Return ``values`` as members of a structure; ``None`` is omitted. Raises :class:`StandInError` naming the key."""
    found: dict[str, Any] = {}
    members = {name.lower(): name for name in shape.members}
    for key, value in values.items():
        if value is None:
            continue
        name = members.get(key.lower())
        if name is None:
            known = ", ".join(sorted(shape.members))
            raise StandInError(f"{where}: the sandbox's aws stand-in has no place for {key!r} (known: {known})")
        found[name] = convert(shape.members[name], value, f"{where}.{name}")
    return found


def convert(shape: Value, value: Value, where: str) -> Value:
    """Return one value in the type its shape requests. Raises :class:`StandInError` for a value that cannot be."""
    kind = shape.type_name
    if kind == "structure":
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, Mapping):
            raise StandInError(f"{where}: {value!r} is not a map")
        return arguments(shape, value, where)
    if kind == "list":
        items = value if isinstance(value, list) else [value]
        return [convert(shape.member, item, f"{where}[{index}]") for index, item in enumerate(items)]
    if kind == "map":
        return {str(key): convert(shape.value, item, f"{where}.{key}") for key, item in value.items()}
    return _scalar(kind, value, where)


def _scalar(kind: str, value: Value, where: str) -> Value:
    try:
        if kind == "boolean":
            return value if isinstance(value, bool) else {"true": True, "false": False}[str(value).lower()]
        if kind in ("integer", "long"):
            return int(value)
        if kind in ("float", "double"):
            return float(value)
    except (KeyError, ValueError) as error:
        raise StandInError(f"{where}: {value!r} is not a value of type {kind}") from error
    if kind == "string":
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (str, int, float)):
            return str(value)
        raise StandInError(f"{where}: {value!r} is not a value of type string")
    return value
