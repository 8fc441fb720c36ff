"""JSON documents in which no key is there twice; Python's reader alone takes the last one."""

from __future__ import annotations

import json
from collections.abc import Iterator


class DuplicateKeyError(ValueError):
    """A key that an object has twice."""


def json_documents(text: str) -> Iterator[object]:
    """Yield the documents of a text, one after the other.

    Raises ValueError for what is not JSON, DuplicateKeyError for a duplicate key, RecursionError for deep nesting.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    at = len(text) - len(text.lstrip())
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at].isspace():
            at += 1


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise DuplicateKeyError(f"duplicate key {next(name for name in names if names.count(name) > 1)}")
    return made
