"""ASCII strings in TOML and YAML, which read JSON's notation of them, and text that user data can hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

Scalar = str | int | bool
Value = Scalar | Sequence["Value"] | Mapping[str, "Value"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[\t\n\x20-\x7e]*")


def is_plain(text: str) -> bool:
    """Return whether ``text`` is printable ASCII with tabs and line feeds, which user data can hold unencoded.

    Other text is encoded in base64: cloud-init would decode it as Latin-1, and reads a script with "MIME-Version:" near
    its beginning as a MIME message.
    """
    return _PLAIN.fullmatch(text) is not None and "mime-version:" not in text.lower()


def format_toml_key(key: str) -> str:
    """Write a TOML key, in quotes where needed: a dot would start a table."""
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key)


def format_toml_value(value: Value) -> str:
    """Write one TOML value: a string, a whole number, a flag or a list of such.

    Raises TypeError for a mapping.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        raise TypeError("a mapping is a table")
    return f"[{', '.join(map(format_toml_value, value))}]"


def format_toml_table(path: str, values: Mapping[str, Value]) -> str:
    """Write one table, its keys in the order given. ``path`` is its header, of bare keys, in brackets for a list."""
    return "".join(
        [f"[{path}]\n", *(f"{format_toml_key(key)} = {format_toml_value(value)}\n" for key, value in values.items())]
    )


def format_yaml(value: Mapping[str, Value], indent: int = 0) -> str:
    """Write a YAML mapping in block style: keys (bare words) in the order given, every string in quotes."""
    pad = "  " * indent
    lines: list[str] = []
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            lines += [f"{pad}{key}:\n", format_yaml(inner, indent + 1)]
        elif isinstance(inner, Sequence) and not isinstance(inner, str):
            lines += [f"{pad}{key}:\n", *(f"{pad}  - {_yaml_scalar(item)}\n" for item in inner)]
        else:
            lines.append(f"{pad}{key}: {_yaml_scalar(inner)}\n")
    return "".join(lines)


def _yaml_scalar(value: Value) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value).lower()  # True is an int whose YAML is true
    raise TypeError(f"{type(value).__name__} is not a scalar")
