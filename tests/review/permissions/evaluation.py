"""IAM's decision about one request, written as the user guide says it: what the comparisons of policies are held to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

Policy = Sequence[Mapping[str, Any]]


class Effect(IntEnum):
    """In the order of what a request may do."""

    DENIED = 0
    NEITHER = 1
    ALLOWED = 2


class Request(NamedTuple):
    """``context`` has a list for keys with several values; ``variables`` are values of policy variables."""

    action: str
    resource: str
    principal: str = "AWS:x"
    context: Mapping[str, str | Sequence[str]] = {}
    variables: Mapping[str, str] = {}


def effect(policy: Policy, request: Request) -> Effect:
    met = {each["Effect"] for each in policy if meets(each, request)}
    return Effect.DENIED if "Deny" in met else Effect.ALLOWED if "Allow" in met else Effect.NEITHER


def meets(statement: Mapping[str, Any], request: Request) -> bool:
    return (
        _element(statement, "Action", lambda each: matches(request.action.lower(), each.lower()))
        and _element(statement, "Resource", lambda each: matches(request.resource, each, request.variables))
        and _principal(statement, request.principal)
        and all(
            _test(operator, key, _many(values), request)
            for operator, keys in statement.get("Condition", {}).items()
            for key, values in keys.items()
        )
    )


def matches(text: str, pattern: str, variables: Mapping[str, str] | None = None) -> bool:
    """``*`` and ``?``; a variable stands for its value, whose own ``*`` is a character."""
    parts = re.split(r"(\$\{[^}]*\}|[*?])", pattern)
    wild = {"*": ".*", "?": "."}
    known = {f"${{{name}}}": value for name, value in (variables or {}).items()}
    expression = "".join(wild.get(part, re.escape(known.get(part, part))) for part in parts)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def _many(value: Any) -> list[Any]:  # noqa: ANN401
    return value if isinstance(value, list) else [value]


def _element(statement: Mapping[str, Any], name: str, has: Any) -> bool:  # noqa: ANN401
    if name in statement:
        return any(has(each) for each in _many(statement[name]))
    if f"Not{name}" in statement:
        return not any(has(each) for each in _many(statement[f"Not{name}"]))
    return True


def _principal(statement: Mapping[str, Any], principal: str) -> bool:
    def has(value: Any) -> bool:  # noqa: ANN401
        if value == "*":
            return True
        named = [(kind, each) for kind, several in value.items() for each in _many(several)]
        return any((kind, each) == ("AWS", "*") or f"{kind}:{each}" == principal for kind, each in named)

    if "NotPrincipal" in statement:
        return not has(statement["NotPrincipal"])
    return "Principal" not in statement or has(statement["Principal"])


def _test(operator: str, key: str, values: list[str], request: Request) -> bool:
    actual = next((value for name, value in request.context.items() if name.lower() == key.lower()), None)
    quantifier, _, operator = operator.rpartition(":")
    if operator == "Null":
        return any((actual in (None, [])) is (value == "true") for value in values)
    base = operator.removesuffix("IfExists")
    negated = "Not" in base
    if quantifier:
        met = [_compare(base, each, values, request) for each in _many(actual or [])]
        if not met and base != operator:
            return True
        return all(met) if quantifier == "ForAllValues" else any(met)
    if actual is None:
        return negated or base != operator
    return _compare(base, actual, values, request)


def _compare(operator: str, actual: Any, values: list[str], request: Request) -> bool:  # noqa: ANN401
    if "Not" in operator:
        return not _compare(operator.replace("Not", ""), actual, values, request)
    return any(_met(operator, actual, value, request.variables) for value in values)


def _met(operator: str, actual: str, value: str, variables: Mapping[str, str]) -> bool:
    filled = re.sub(r"\$\{([^}]*)\}", lambda found: variables[found[1]], value)
    match operator:
        case "StringEquals":
            return actual == filled
        case "StringEqualsIgnoreCase" | "Bool":
            return actual.lower() == filled.lower()
        case "StringLike":
            return matches(actual, value, variables)
        case "ArnLike" | "ArnEquals":
            parts, wanted = actual.split(":", 5), value.split(":", 5)
            return len(parts) == len(wanted) == 6 and all(
                matches(part, each, variables) for part, each in zip(parts, wanted, strict=True)
            )
        case "IpAddress":
            address, network = ip_address(actual), ip_network(value)
            return address.version == network.version and address in network
    kind = "Numeric" if operator.startswith("Numeric") else "Date"
    left, right = (
        (float(actual), float(value))
        if kind == "Numeric"
        else (datetime.fromisoformat(actual).timestamp(), datetime.fromisoformat(value).timestamp())
    )
    return {
        "Equals": left == right,
        "LessThan": left < right,
        "LessThanEquals": left <= right,
        "GreaterThan": left > right,
        "GreaterThanEquals": left >= right,
    }[operator.removeprefix(kind)]
