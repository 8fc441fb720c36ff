"""JSON that is decoded part by part: neither the text as a whole nor all of its values are in memory at once."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from multiarch.errors import MultiarchError

_WINDOW = 1 << 20
_BLANK = re.compile(r"[ \t\r\n]*")
_SHOWN = 60
_LITERALS = ("true", "false", "null", "-")


class JsonParts:
    """A cursor in JSON text. ``hook`` is called for every object and returns what takes its place.

    All methods raise MultiarchError for invalid JSON, and for JSON that is cut off.
    """

    def __init__(self, data: bytes, start: int = 0, hook: Any = None) -> None:  # noqa: ANN401  (json's own type)
        """``data`` is UTF-8; decoding begins at ``start``."""
        self._data = memoryview(data)
        self._next = start
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._json = json.JSONDecoder(object_hook=hook, parse_constant=_refuse_constant)
        self._text = ""
        self._at = 0

    def more(self) -> bool:
        """Whether anything but blanks is left."""
        return bool(self.peek())

    def peek(self) -> str:
        """The next character that is not blank, or nothing at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                return ""

    def line(self) -> str:
        """The beginning of the line that comes next, for messages."""
        return self._text[self._at : self._at + _SHOWN].partition("\n")[0].rstrip()

    def value(self) -> Any:  # noqa: ANN401  (any JSON value)
        """Decode the next value."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except RecursionError:
                raise MultiarchError("The JSON is nested too deeply.") from None
            except json.JSONDecodeError as error:
                if self._read_on():
                    continue
                raise self._fault(error) from None
            except ValueError as error:
                raise MultiarchError(f"Invalid JSON: {error}.") from None
            # A number at the end of the window may go on.
            if end < len(self._text) or not self._read_on():
                self._at = end
                return value

    def take(self, character: str) -> bool:
        """Skip ``character`` if it is next."""
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def expect(self, character: str) -> None:
        """Skip ``character``, which has to be next."""
        if not self.take(character):
            if not self.more():
                raise _cut_off()
            raise MultiarchError(f"Invalid JSON: {character!r} expected before {self.line()!r}.")

    def members(self) -> Iterator[str]:
        """The keys of the object that comes next. The caller takes each key's value before the next key."""
        self.expect("{")
        if self.take("}"):
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise MultiarchError(f"Invalid JSON: {key!r} can't be a key.")
            self.expect(":")
            yield key
            if not self.take(","):
                self.expect("}")
                return

    def elements(self) -> Iterator[Any]:
        """The elements of the list that comes next."""
        self.expect("[")
        if self.take("]"):
            return
        while True:
            yield self.value()
            if not self.take(","):
                self.expect("]")
                return

    def _read_on(self) -> bool:
        """Add the next part of the data; False at its end. What is behind the cursor is dropped."""
        if self._next >= len(self._data):
            return False
        rest = self._text[self._at :]
        end = min(len(self._data), self._next + max(_WINDOW, len(rest)))
        try:
            more = self._decode(self._data[self._next : end], end == len(self._data))
        except UnicodeDecodeError:
            raise MultiarchError("The file is not UTF-8.") from None
        self._text, self._at, self._next = rest + more, 0, end
        return True

    def _fault(self, error: json.JSONDecodeError) -> MultiarchError:
        rest = self._text[error.pos :].rstrip()
        # The beginning of a literal, or nothing, is invalid for the decoder.
        if error.msg.startswith("Unterminated string") or any(each.startswith(rest) for each in _LITERALS):
            return _cut_off()
        near = self._text[error.pos : error.pos + _SHOWN].partition("\n")[0]
        return MultiarchError(f"Invalid JSON: {error.msg} at {near!r}.")


def _cut_off() -> MultiarchError:
    return MultiarchError(
        "The JSON is cut off before its end.", hint="Was `pulumi preview` interrupted, or the disk full? Run it again."
    )


def _refuse_constant(name: str) -> Any:  # noqa: ANN401  (json's own type)
    raise ValueError(f"{name} is not a JSON number")
