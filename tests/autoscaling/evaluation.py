"""Says whether policies allow a call, as IAM would: the operators that our documents use, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True)
class Call:
    """One request: ``context`` holds condition keys, such as ``aws:ResourceTag/KEY``."""

    action: str
    resource: str
    context: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


def allowed(documents: Iterable[Mapping[str, Any]], call: Call) -> bool:
    """An explicit denial wins; without a statement that allows the call, it is denied."""
    effects = {s["Effect"] for document in documents for s in document["Statement"] if _applies(s, call)}
    return effects == {"Allow"}


def _applies(statement: Mapping[str, Any], call: Call) -> bool:
    unknown = set(statement) - {"Sid", "Effect", "Action", "Resource", "Condition"}
    assert not unknown, unknown
    return (
        any(fnmatchcase(call.action, pattern) for pattern in _many(statement["Action"]))
        and any(fnmatchcase(call.resource, pattern) for pattern in _many(statement["Resource"]))
        and all(
            _met(operator, call.context.get(key), _many(wanted))
            for operator, pairs in statement.get("Condition", {}).items()
            for key, wanted in pairs.items()
        )
    )


def _met(operator: str, actual: str | Sequence[str] | None, wanted: list[str]) -> bool:
    values = None if actual is None else _many(actual)
    if operator == "StringEquals":
        return values is not None and any(value in wanted for value in values)
    if operator == "StringLike":
        return values is not None and any(fnmatchcase(value, one) for value in values for one in wanted)
    if operator == "StringEqualsIfExists":
        return values is None or any(value in wanted for value in values)
    if operator == "ForAllValues:StringEquals":
        return values is None or all(value in wanted for value in values)
    raise AssertionError(operator)


def _many(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
