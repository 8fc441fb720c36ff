"""Says whether policies allow a call, as IAM would: the elements and operators that our documents use, and no others.

Sources: IAM user guide, "Policy evaluation logic", "IAM JSON policy elements: Condition operators".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

IF_EXISTS = "IfExists"
_ELEMENTS = frozenset({"Sid", "Effect", "Principal", "Action", "Resource", "Condition"})


@dataclass(frozen=True)
class Call:
    """One request: ``context`` holds condition keys, such as ``aws:ResourceTag/KEY``.

    ``service`` is the service principal that calls, which only a resource's own policy looks at.
    """

    action: str
    resource: str
    context: Mapping[str, str] = field(default_factory=dict)
    service: str = ""


def allowed(documents: Iterable[Mapping[str, Any]], call: Call) -> bool:
    """An explicit denial wins; without a statement that allows the call, it is denied."""
    effects = {s["Effect"] for document in documents for s in document["Statement"] if _applies(s, call)}
    return effects == {"Allow"}


def _applies(statement: Mapping[str, Any], call: Call) -> bool:
    unknown = set(statement) - _ELEMENTS
    assert not unknown, unknown
    # Names of condition keys, unlike their values, are the same in upper and lower case; so are actions.
    context = {key.lower(): value for key, value in call.context.items()}
    return (
        statement.get("Principal", "*") in ("*", {"Service": call.service})
        and any(matches(pattern.lower(), call.action.lower()) for pattern in _many(statement["Action"]))
        and any(matches(pattern, call.resource) for pattern in _many(statement["Resource"]))
        and all(
            _met(operator, context.get(key.lower()), _many(wanted))
            for operator, pairs in statement.get("Condition", {}).items()
            for key, wanted in pairs.items()
        )
    )


@cache
def matches(pattern: str, text: str) -> bool:
    """Whether a string fits a pattern, in which ``*`` is any characters, ``?`` any one, and all else itself.

    Never stricter than IAM: ``*`` reaches over the colons of an ARN.
    """
    assert "${" not in pattern, f"policy variables are not known here: {pattern}"
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _met(operator: str, actual: str | None, wanted: list[str]) -> bool:
    if actual is None:
        return operator.endswith(IF_EXISTS)
    # A context has one value of each key here.
    return _value_met(operator.removesuffix(IF_EXISTS).removeprefix("ForAllValues:"), actual, wanted)


def _value_met(operator: str, value: str, wanted: list[str]) -> bool:
    if operator == "StringEquals":
        return value in wanted
    if operator in ("StringLike", "ArnLike"):
        return any(matches(pattern, value) for pattern in wanted)
    if operator == "Bool":
        return value.lower() in [one.lower() for one in wanted]
    raise AssertionError(operator)


def _many(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
