"""Paths of properties, as the engine writes them in a detailed diff: ``tags["team"]``, ``ingress[0].cidrBlocks``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from multiarch.facts.unknown_values import UNKNOWN_TEXT, UNKNOWN_VALUES

SECRET = "[secret]"  # noqa: S105  (what the engine writes in a secret's place)
"""What the engine writes in the place of a secret."""
UNKNOWN = UNKNOWN_TEXT
"""What the engine writes in the place of a string that is known only after an update (plugin.UnknownStringValue)."""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
"""In the place of a value that is not there: null is a value."""
_PART = re.compile(r"""\.?([^.\[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]""")
_PLAIN = re.compile(r"[^.\[\]\"]+")


@lru_cache(maxsize=4096)
def split_path(path: str) -> tuple[str | int, ...]:
    """Return the keys and list indexes of a path. What is not one is taken as a single key."""
    found: list[str | int] = []
    end = 0
    for match in _PART.finditer(path):
        if match.start() != end:
            return (path,)
        plain, index, quoted = match.groups()
        if index is not None:
            found.append(int(index))
        else:
            found.append(plain if plain is not None else re.sub(r"\\(.)", r"\1", quoted))
        end = match.end()
    return tuple(found) if found and end == len(path) else (path,)


def get_value_at(properties: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  (any JSON value)
    """Return the value at a path, or MISSING; UNKNOWN or SECRET if a value above it is that."""
    value: Any = properties
    for part in split_path(path):
        if isinstance(part, int) and isinstance(value, list):
            value = value[part] if part < len(value) else MISSING
        elif isinstance(value, Mapping):
            value = value.get(part, MISSING)
        elif not isinstance(value, str) or (value != SECRET and value not in UNKNOWN_VALUES):
            return MISSING
    return value


def is_below(path: str, roots: Iterable[str]) -> bool:
    """Return whether a path is one of ``roots`` or below it."""
    return any(path == root or path.startswith((f"{root}.", f"{root}[")) for root in roots)


def list_differences(old: Any, new: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401  (any JSON values)
    """Yield the paths whose values differ, without the paths above them. Lists of another length differ as a whole."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from list_differences(old.get(key, MISSING), new.get(key, MISSING), _joined(path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from list_differences(before, after, f"{path}[{index}]")
    else:
        yield path


def _joined(path: str, key: str) -> str:
    if not _PLAIN.fullmatch(key):
        escaped = key.replace("\\", "\\\\").replace('"', '\\"')
        return f'{path}["{escaped}"]'
    return f"{path}.{key}" if path else key
