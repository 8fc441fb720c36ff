"""Writing values into a stack file: comments, order and every other byte stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.stack.engine_config import NAMESPACE
from multiarch.stack.yaml_source import parse
from multiarch.yaml_text.additions import APPEND, Addition
from multiarch.yaml_text.edit import set_value


@dataclass(frozen=True, slots=True)
class NewValue:
    """``value`` for the key at ``path``, which starts below ``config``, without the namespace.

    ``note`` becomes a comment behind it. A missing key is written below the key ``below``, or else at the end. A list
    can only grow.
    """

    path: tuple[str, ...]
    value: str | int | bool | tuple[str, ...]
    note: str = ""
    below: str = ""


def write_values(text: str, values: Sequence[NewValue]) -> str:
    """Return a stack file's text with values added or replaced.

    Raises MultiarchError if a value can't be written without changing another one, as when an alias shares one mapping
    between two groups that need different values.
    """
    keys = parse(text, "").value["config"]
    # As the engine reads them: NAMESPACE:key, key, or NAMESPACE:config:key.
    spelled = {key.rpartition(":")[2]: key for key in keys if ":" not in key or key.startswith(f"{NAMESPACE}:")}
    prefix = f"{NAMESPACE}:" if any(":" in key for key in spelled.values()) else ""
    done: list[tuple[tuple[str, ...], object]] = []
    for each in values:
        head, *rest = each.path
        path = ("config", spelled.get(head, f"{prefix}{head}"), *rest)
        text = _written(text, path, each)
        done.append((path, list(each.value) if isinstance(each.value, tuple) else each.value))
    _verify(text, done)
    return text


def _written(text: str, path: tuple[str, ...], new: NewValue) -> str:
    if not isinstance(new.value, tuple):
        return set_value(text, Addition(path, new.value, new.note), below=new.below)
    there = _value_at(parse(text, "").value, path)
    if there is None:
        return set_value(text, Addition(path, list(new.value)), below=new.below)
    for item in new.value:
        if item not in there:
            text = set_value(text, Addition((*path, APPEND), item))
    return text


def _value_at(value: Any, path: Sequence[str]) -> Any:  # noqa: ANN401  (what YAML holds)
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _verify(text: str, expected: Sequence[tuple[tuple[str, ...], object]]) -> None:
    """Read back what was written: two values that share one place overwrite each other."""
    value = parse(text, "").value
    for path, new in expected:
        found = _value_at(value, path)
        same = sorted(found) == sorted(new) if isinstance(found, list) and isinstance(new, list) else found == new
        if not same:
            raise MultiarchError(
                f"{'.'.join(path[1:])} shares its place with another group, and they need different values.",
                hint="Write the groups without an alias.",
            )
