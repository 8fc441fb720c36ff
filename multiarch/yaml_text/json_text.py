"""JSON documents in which no key is there twice, and which are written with the layout that they had."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator

_INDENT = re.compile(r"\A\s*[\[{][ \t]*\r?\n([ \t]+)")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class DuplicateKeyError(ValueError):
    """A key that an object has twice."""


def read_json_documents(text: str) -> Iterator[object]:
    """Yield the documents of a string, one after the other.

    Raises ValueError for what is not JSON and for a number that is too large, DuplicateKeyError for a duplicate key,
    RecursionError for deep nesting.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite)
    at = len(text) - len(text.lstrip())
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at].isspace():
            at += 1


def format_json_like(text: str, value: object) -> str:
    """Write a value with the indentation, the line ends and the escaping of ``text``."""
    found = _INDENT.match(text)
    separators = (",", ":") if not found and '": ' not in text else ("," if found else ", ", ": ")
    indent = found[1] if found else None
    new = json.dumps(value, indent=indent, separators=separators, ensure_ascii=text.isascii())
    if _LONE_SURROGATE.search(new):  # JSON can name it, UTF-8 has none
        new = json.dumps(value, indent=indent, separators=separators)
    return (new.replace("\n", "\r\n") if "\r\n" in text else new) + text[len(text.rstrip()) :]


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise DuplicateKeyError(f"duplicate key {next(name for name, count in counts.items() if count > 1)}")
    return made
