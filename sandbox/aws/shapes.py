"""Checks values against the service models of botocore, also where botocore itself leaves it to the service."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
from botocore.validate import ParamValidator


@cache
def model(service: str) -> Any:  # noqa: ANN401 (botocore has no types)
    """Return the service's model."""
    return botocore.session.get_session().get_service_model(service)


def faults(value: Any, shape: Any, path: str = "") -> list[str]:  # noqa: ANN401 (JSON, and botocore has no types)
    """List what is wrong with a value: required members, types, and limits, patterns and names that AWS enforces."""
    report = ParamValidator().validate(value, shape)
    return [report.generate_report()] if report.has_errors() else list(_limits(value, shape, path))


def _limits(value: Any, shape: Any, path: str) -> Iterator[str]:  # noqa: ANN401 (as above)
    kind, rules = shape.type_name, shape.metadata
    if kind == "structure":
        for name, member in value.items():
            yield from _limits(member, shape.members[name], f"{path}.{name}".lstrip("."))
        return
    if kind in ("list", "map"):
        members = value if kind == "list" else value.values()
        for member in members:
            yield from _limits(member, shape.member if kind == "list" else shape.value, f"{path}.member")
    measure = (
        value if kind in ("integer", "long", "float", "double") else len(value) if hasattr(value, "__len__") else 0
    )
    failed = f"Value at '{path}' failed to satisfy constraint: Member must"
    if measure < rules.get("min", measure):
        yield f"{failed} have a value or length greater than or equal to {rules['min']}"
    if measure > rules.get("max", measure):
        yield f"{failed} have a value or length less than or equal to {rules['max']}"
    if "pattern" in rules and not re.search(rules["pattern"], value):
        yield f"{failed} satisfy regular expression pattern: {rules['pattern']}"
    if "enum" in rules and value not in rules["enum"]:
        yield f"{failed} satisfy enum value set: {rules['enum']}"
