"""JSON documents in which no key is there twice, and whose numbers are written as they were read.

Python's reader takes the last of two equal keys, and a number as the nearest that it has: ``1E400`` as infinity.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Self

_INDENT = re.compile(r"\A\s*[\[{][ \t]*\r?\n([ \t]+)")
_HALF = re.compile("[\ud800-\udfff]")
_MOST_DIGITS = 1000
"""Of an integer that Python reads as one: it refuses very long ones."""


class DuplicateKeyError(ValueError):
    """A key that an object has twice."""


class WrittenNumber(float):
    """A number that Python would write in another way; ``text`` is how it was written."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Read the number."""
        number = super().__new__(cls, text)
        number.text = text
        return number


class NegativeZero(int):
    """``-0``, which Go reads as the integer 0."""

    text = "-0"


def json_documents(text: str, *, keep_numbers: bool = False) -> Iterator[object]:
    """Yield the documents of a text, one after the other.

    With ``keep_numbers``, those that Python would write in another way are of the classes :class:`WrittenNumber` and
    :class:`NegativeZero`. Raises ValueError for what is not JSON, DuplicateKeyError for a duplicate key, RecursionError
    for deep nesting.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_float=WrittenNumber if keep_numbers else None,
        parse_int=_written_integer if keep_numbers else None,
    )
    at = len(text) - len(text.lstrip())
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at].isspace():
            at += 1


def json_like(text: str, value: object) -> str:
    """Write a value with the indentation, the line ends and the escaping of ``text``."""
    found = _INDENT.match(text)
    indent = found[1] if found else ""
    separators = (",", ":") if not found and '": ' not in text else ("," if found else ", ", ": ")
    new = "".join(_Writer(indent, separators, ascii_only=text.isascii()).parts(value, "\n" if found else ""))
    end = text[len(text.rstrip()) :]
    return (new.replace("\n", "\r\n") if "\r\n" in text else new) + end


class _Writer:
    """Writes values like ``json.dumps``, which can't be told how to write a number."""

    def __init__(self, indent: str, separators: tuple[str, str], *, ascii_only: bool) -> None:
        self._indent, (self._comma, self._colon), self._ascii = indent, separators, ascii_only

    def parts(self, value: object, line: str) -> Iterator[str]:
        """The text in parts; ``line`` is what begins a line here, empty where all is on one line."""
        if isinstance(value, WrittenNumber | NegativeZero):
            yield value.text
        elif not isinstance(value, dict | list) or not value:
            yield self._plain(value)
        else:
            opening, closing = "{}" if isinstance(value, dict) else "[]"
            inner = line and line + self._indent
            yield opening
            for number, each in enumerate(value):
                yield (self._comma if number else "") + inner
                if isinstance(value, dict):
                    yield self._plain(each) + self._colon
                    yield from self.parts(value[each], inner)
                else:
                    yield from self.parts(each, inner)
            yield line + closing

    def _plain(self, value: object) -> str:
        written = json.dumps(value, ensure_ascii=self._ascii)
        # Half of a character, which JSON can name, has no UTF-8.
        return json.dumps(value) if _HALF.search(written) else written


def _written_integer(text: str) -> int | WrittenNumber:
    if text == "-0":
        return NegativeZero()
    return WrittenNumber(text) if len(text) > _MOST_DIGITS else int(text)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise DuplicateKeyError(f"duplicate key {next(name for name, count in counts.items() if count > 1)}")
    return made
