"""Values of properties in a sentence: short ones as they are, never a secret."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from multiarch.observed.resources.paths import MISSING, SECRET, UNKNOWN, get_value_at, split_path
from multiarch.observed.resources.secrets import is_secret, mask_secrets, may_quote_secret
from multiarch.review.model import Step

_LONGEST, _MAXIMUM_LINES = 80, 20
_TOO_LONG = "…"


def format_value(value: Any, path: str = "") -> str:  # noqa: ANN401  (any JSON value)
    """Format the value at ``path``: ``[secret]``, ``known after the update``, JSON of at most 80 characters.

    Nothing for MISSING; ``…`` for what is longer.
    """
    if value is MISSING:
        return ""
    if is_secret(split_path(path)):
        return SECRET
    if value == UNKNOWN:
        return "known after the update"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if UNKNOWN in text or len(text) > _LONGEST or may_quote_secret(text):
        return _TOO_LONG
    return mask_secrets(text)


def format_difference(step: Step, path: str) -> str:
    """Format a change of an input: ``version: 1.35 → 1.36``. Only the path if the values say nothing."""
    old = MISSING if step.old is None else get_value_at(step.old.inputs, path)
    new = MISSING if step.new is None else get_value_at(step.new.inputs, path)
    # Of a ConfigMap, and of it alone, the data is not secret by its place.
    keys = path.removeprefix("data") if step.type.endswith(":ConfigMap") else path
    if step.old is None:
        return f"{path}: {value}" if (value := format_value(new, keys)) else path
    change = format_from_to(old, new, keys)
    return f"{path}: {change}" if change else path


def format_from_to(old: Any, new: Any, path: str) -> str:  # noqa: ANN401  (any JSON values)
    """Return ``1.35 → 1.36``; nothing if the values are too long, secret or both missing."""
    before, after = format_value(old, path), format_value(new, path)
    if before == after or _TOO_LONG in {before, after}:
        return ""
    if SECRET in {before, after}:
        return ""
    return f"{before or 'not set'} → {after or 'not set'}"


def limit_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines, and how many were omitted."""
    if len(lines) <= _MAXIMUM_LINES:
        return tuple(lines)
    return (*lines[: _MAXIMUM_LINES - 1], f"and {len(lines) - _MAXIMUM_LINES + 1} more")


def get_resource_name(step: Step) -> str:
    """Return the name that AWS or Kubernetes knows, with its namespace, or else Pulumi's name of the resource."""
    for state in (step.old, step.new):
        if state is None:
            continue
        metadata = state.inputs.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
            namespace = metadata.get("namespace")
            return f"{namespace}/{metadata['name']}" if isinstance(namespace, str) else metadata["name"]
        for key in ("name", "bucket", "identifier", "clusterIdentifier", "domainName", "repository"):
            name = state.inputs.get(key)
            if isinstance(name, str) and name not in {SECRET, UNKNOWN} and name:
                return name
    return step.name
