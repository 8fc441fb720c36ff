"""Grants in words, one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from multiarch.review.permissions.comparison import Elements, Grant

_MOST_NAMES = 6
_LONGEST = 300
MOST_LINES = 20


def line(grant: Grant, *, lost: bool = False) -> str:
    """What a grant allows, or no longer denies, with its conditions; or why that can't be told.

    With ``lost`` the sides are exchanged: what is no longer allowed, or is now denied.
    """
    if grant.problem:
        return shortened(f"a statement {grant.problem}: {json.dumps(grant.elements, sort_keys=True, default=str)}")
    said = shortened(_subject_matter(grant.elements))
    if not grant.allows:
        said = f"{'now' if lost else 'no longer'} denied: {said}"
    conditions = _conditions(grant.other) if grant.other else ""
    if not conditions:
        return said
    then = "now" if grant.allows is lost else "before"
    return f"{said}; {then} only if {shortened(conditions)}"


def limited(lines: Sequence[str], most: int = MOST_LINES) -> tuple[str, ...]:
    """The first lines, and how many were left out."""
    if len(lines) <= most:
        return tuple(lines)
    return (*lines[: most - 1], f"and {len(lines) - most + 1} more")


def names(values: Sequence[str]) -> str:
    """A list in a sentence, without the end of a long one."""
    kept = [shortened(each) for each in values[:_MOST_NAMES]]
    return ", ".join(kept) + (f" and {len(values) - _MOST_NAMES} more" if len(values) > _MOST_NAMES else "")


def shortened(text: str) -> str:
    """The beginning of a text that is too long for a line."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _subject_matter(elements: Elements) -> str:
    """``s3:GetObject on arn:… for service x if aws:SourceAccount is 1``."""
    parts = [_listed(elements, "Action", "every action")]
    if resources := _listed(elements, "Resource", "every resource"):
        parts.append(f"on {resources}")
    if principals := _principals(elements):
        parts.append(f"for {principals}")
    if conditions := _conditions(elements):
        parts.append(f"if {conditions}")
    return " ".join(parts)


def _listed(elements: Elements, name: str, everything: str) -> str:
    if name in elements:
        values = _many(elements[name])
        return everything if values == ["*"] else names(values)
    if f"Not{name}" in elements:
        return f"{everything} except {names(_many(elements[f'Not{name}']))}"
    return ""


def _principals(elements: Elements) -> str:
    for name, prefix in (("Principal", ""), ("NotPrincipal", "everyone except ")):
        if name in elements:
            value = elements[name]
            if not isinstance(value, Mapping):
                return prefix + ("everyone" if value == "*" else str(value))
            found = [
                "everyone" if (kind, each) == ("AWS", "*") else each if kind == "AWS" else f"{kind.lower()} {each}"
                for kind, several in value.items()
                for each in _many(several)
            ]
            return prefix + names(found)
    return ""


def _conditions(elements: Elements) -> str:
    condition = elements.get("Condition")
    if not isinstance(condition, Mapping):
        return ""
    return " and ".join(
        f"{key} {operator} {names(_many(values))}"
        for operator, keys in condition.items()
        if isinstance(keys, Mapping)
        for key, values in keys.items()
    )


def _many(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each if isinstance(each, str) else json.dumps(each, default=str) for each in values]
