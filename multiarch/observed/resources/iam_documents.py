"""Policy documents of IAM, read in the one form in which policies judge them and reviews compare them.

Source: IAM user guide, "IAM JSON policy element reference", "Grammar of the IAM JSON policy language".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from multiarch.observed.resources.properties import Properties, list_values, parse_json, require_object, require_string

ALLOW, DENY = "Allow", "Deny"
EXCEPT = "* except "
"""What a value begins with that is everything but some values: ``NotAction``, ``NotResource``, ``NotPrincipal``."""
_FIELDS = ("Action", "Resource", "Principal")
_ELEMENTS = {"Sid", "Effect", "Condition", *_FIELDS, *(f"Not{name}" for name in _FIELDS)}
_ACCOUNT = re.compile(r"(?:arn:[a-z-]+:iam::)?(\d{12})(?::root)?")
_MAXIMUM_GRANTS = 10_000


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement. ``fields`` are the values of action, resource and principal; one empty string for a missing element.

    Principals are ARNs, ``account NUMBER``, ``service HOST`` and so on; everyone is ``*``. Lists of a ``condition``
    are sorted.
    """

    sid: str
    effect: str
    fields: tuple[list[str], list[str], list[str]]
    condition: Mapping[str, Mapping[str, list[str]]]


def list_statements(value: object) -> list[object]:
    """Return the statements of a policy, a JSON string or an object; any other value is one statement."""
    tree = None if value == "" else parse_json(value)
    return list_values(tree.get("Statement") if isinstance(tree, Mapping) else tree)


def read_statement(value: object) -> Statement:
    """Read one statement. Raises ValueError, with the reason, for what can't be read or is not known."""
    statement = require_object(value, "a policy")
    unknown = [f"the unknown element {each}" for each in statement if each not in _ELEMENTS]
    problem = unknown[0] if unknown else ""
    try:
        effect = require_string(statement.get("Effect"), "an Effect")
        actions, resources, principals = (_read_field(statement, name) for name in _FIELDS)
        condition = _read_condition(statement.get("Condition"))
        count = prod(map(len, (actions, resources, principals)))
        if effect not in {ALLOW, DENY} or actions == [""] or count > _MAXIMUM_GRANTS:
            problem = "no Effect, no Action or too many values"
    except ValueError as error:
        problem = problem or str(error)
    if problem:
        raise ValueError(f"a statement with {problem}: {json.dumps(statement, sort_keys=True, default=str)}")
    return Statement(str(statement.get("Sid") or ""), effect, (actions, resources, principals), condition)


def _read_field(statement: Properties, name: str) -> list[str]:
    """Return the values of an element one by one; those of its negation are one."""
    read = _read_principals if name == "Principal" else _read_strings
    if f"Not{name}" in statement:
        if name in statement:
            raise ValueError(f"both {name} and Not{name}")
        return [EXCEPT + ", ".join(sorted(read(statement[f"Not{name}"])))]
    return read(statement[name]) if name in statement else [""]


def _read_strings(value: object) -> list[str]:
    values = [require_string(each, "a value") for each in list_values(value)]
    if not values:
        raise ValueError("an empty list")
    return values


def _read_principals(value: object) -> list[str]:
    found: list[str] = []
    for kind, values in [("AWS", value)] if value == "*" else require_object(value, "a Principal").items():
        for each in _read_strings(values):
            account = _ACCOUNT.fullmatch(each)
            name = f"account {account[1]}" if account else each
            found.append(name if kind == "AWS" else f"{kind.lower()} {each}")
    return _read_strings(found)


def _read_condition(condition: object) -> dict[str, dict[str, list[str]]]:
    read: dict[str, dict[str, list[str]]] = {}
    for operator, keys in require_object(condition, "a Condition").items():
        for key, values in require_object(keys, "a Condition").items():
            known = (each if isinstance(each, str) else json.dumps(each) for each in list_values(values))
            read.setdefault(operator, {})[key] = sorted(require_string(each, "a value") for each in known)
    return read
