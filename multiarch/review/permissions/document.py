"""Reading IAM policy documents: statements as boxes, and why a statement or a document can't be read.

Source: IAM user guide, "IAM JSON policy element reference", "Grammar of the IAM JSON policy language".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multiarch.review.permissions.conditions import Test
from multiarch.review.permissions.difference import Box
from multiarch.review.permissions.sides import hidden
from multiarch.review.permissions.wildcards import EVERYTHING, Words, glob

_LONGEST = 200_000  # characters; the longest that AWS takes (a KMS key policy) is 32 KiB
_WITH_VARIABLES = "2012-10-17"
_ROOT = re.compile(r"arn:[a-z-]+:iam::(\d{12}):root")
_ELEMENTS = frozenset(
    {
        *("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction"),
        *("Resource", "NotResource", "Condition"),
    }
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. ``written`` is its JSON with everything that has no order sorted: equal texts mean the same.

    ``variables``: whether ``${…}`` is a variable. ``problem`` says why it can't be understood, as a predicate; then
    ``box`` is None.
    """

    allows: bool
    box: Box | None
    elements: Mapping[str, Any]
    written: str
    variables: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """Statements in their order. ``problem`` says why the whole document can't be read, as a predicate."""

    statements: tuple[Statement, ...]
    problem: str = ""


EMPTY = Document(())


class _UnreadableError(ValueError):
    """Why a part of a document can't be read, as a predicate."""


def read(value: object) -> Document:
    """Read a policy as Pulumi has it: a JSON text or a mapping; None and an empty text are an empty document."""
    try:
        tree = _tree(value)
        if tree is None:
            return EMPTY
        statements = tree.get("Statement", [])
        if isinstance(statements, Mapping):
            statements = [statements]
        if not isinstance(statements, list):
            return Document((), "has a Statement that is not a list")
        version = tree.get("Version", "2008-10-17")
        return Document(tuple(_statement(each, str(version)) for each in statements))
    except _UnreadableError as error:
        return Document((), str(error))


def texts(value: object) -> list[str]:
    """A text or list of texts as a list. Raises ValueError for anything else."""
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    for each in values:
        if reason := hidden(each):
            raise _UnreadableError(f"has a value that {reason}")
        if not isinstance(each, str):
            raise _UnreadableError("has a value that is not a text")
    return list(values)


def _tree(value: object) -> Mapping[str, Any] | None:
    if value is None or value == "":
        return None
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        raise _UnreadableError("is not a JSON object")
    if len(value) > _LONGEST:
        raise _UnreadableError(f"is longer than {_LONGEST:,} characters")
    try:
        tree = json.loads(value, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _UnreadableError) else hidden(value) or "is not valid JSON"
        raise _UnreadableError(reason) from None
    if not isinstance(tree, dict):
        raise _UnreadableError("is not a JSON object")
    return tree


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _UnreadableError("has a key twice in one object")
    return found


def _statement(value: object, version: str) -> Statement:
    if not isinstance(value, Mapping):
        raise _UnreadableError("has a statement that is not an object")
    allows = value.get("Effect") != "Deny"
    variables = version == _WITH_VARIABLES
    written = json.dumps([variables, _sorted(value)], sort_keys=True, default=str)
    try:
        return Statement(allows, box_of(value, variables=variables), value, written, variables)
    except _UnreadableError as error:
        return Statement(allows, None, value, written, variables, str(error))


def _sorted(value: object) -> object:
    """A statement's value with lists sorted, a list of one text as the text, and no Sid."""
    if isinstance(value, Mapping):
        return {key: _sorted(each) for key, each in value.items() if key != "Sid"}
    if isinstance(value, list):
        ordered = sorted((_sorted(each) for each in value), key=repr)
        return ordered[0] if len(ordered) == 1 else ordered
    return value


def box_of(statement: Mapping[str, Any], *, variables: bool) -> Box:
    """The requests that a statement is about, by principal, action and resource. Raises ValueError with the reason."""
    if unknown := sorted(set(statement) - _ELEMENTS):
        raise _UnreadableError(f"has the element {unknown[0]}, which policies don't have")
    if statement.get("Effect") not in {"Allow", "Deny"}:
        raise _UnreadableError("has an Effect that is neither Allow nor Deny")
    actions = _part(statement, "Action", lambda text: glob(text, ignore_case=True))
    if actions is None:
        raise _UnreadableError("has neither Action nor NotAction")
    resources = _part(statement, "Resource", lambda text: glob(text, variables=variables))
    principals = _principals(statement)
    tests = _tests(statement.get("Condition"), variables=variables)
    return Box((principals or EVERYTHING, actions, resources or EVERYTHING), tests)


def _part(statement: Mapping[str, Any], name: str, read_glob: Any) -> Words | None:  # noqa: ANN401
    present = [key for key in (name, f"Not{name}") if key in statement]
    if len(present) > 1:
        raise _UnreadableError(f"has both {name} and Not{name}")
    if not present:
        return None
    values = texts(statement[present[0]])
    if not values:
        raise _UnreadableError(f"has an empty {present[0]}")
    return Words(frozenset(map(read_glob, values)), inverted=present[0] != name)


def _principals(statement: Mapping[str, Any]) -> Words | None:
    present = [key for key in ("Principal", "NotPrincipal") if key in statement]
    if len(present) > 1:
        raise _UnreadableError("has both Principal and NotPrincipal")
    if not present:
        return None
    names = principal_names(statement[present[0]])
    return Words(frozenset(glob(each, wild=each == "*") for each in names), inverted=present[0] != "Principal")


def principal_names(value: object) -> list[str]:
    """Principals as ``AWS:ARN``, ``Service:HOST`` and so on, accounts as ``AWS:NUMBER``; everyone is ``*``."""
    if isinstance(value, str):
        if value != "*":
            raise _UnreadableError("has a Principal that " + (hidden(value) or "is neither * nor an object"))
        return ["*"]
    if not isinstance(value, Mapping):
        raise _UnreadableError("has a Principal that is neither * nor an object")
    names: list[str] = []
    for kind, values in value.items():
        for each in texts(values):
            account = _ROOT.fullmatch(each)
            names.append("*" if (kind, each) == ("AWS", "*") else f"{kind}:{account[1] if account else each}")
    if not names:
        raise _UnreadableError("has an empty Principal")
    return names


def _tests(condition: object, *, variables: bool) -> tuple[Test, ...]:
    if condition is None:
        return ()
    if not isinstance(condition, Mapping) or not all(isinstance(each, Mapping) for each in condition.values()):
        raise _UnreadableError("has a Condition that is not an object of objects")
    return tuple(
        Test(
            operator, key.lower(), frozenset(map(_scalar, values if isinstance(values, list) else [values])), variables
        )
        for operator, keys in sorted(condition.items())
        for key, values in sorted(keys.items())
    )


def _scalar(value: object) -> str:
    """A condition's value: numbers and booleans may be written without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return texts(value)[0]
