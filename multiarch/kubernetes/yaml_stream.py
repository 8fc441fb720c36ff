"""YAML documents as kubectl reads them, fast: libyaml parses, and values are made here.

kubectl takes YAML 1.1 as Go's ``sigs.k8s.io/yaml`` has it: ``yes``, ``on`` and ``y`` are truth values, ``0755`` is an
octal number, and a date or ``22:22`` is text. Unlike kubectl, a key that a mapping has twice is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from multiarch.errors import MultiarchError

try:
    from yaml.cyaml import CParser
except ImportError as _error:  # a PyYAML that was built without it
    raise MultiarchError("PyYAML has no libyaml here.", hint="Install PyYAML from a wheel.") from _error

_TAG = "tag:yaml.org,2002:"
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_WORDS: dict[str, object] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
_WORDS |= dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf"))
_WORDS |= dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")) | dict.fromkeys(
    (".nan", ".NaN", ".NAN"), float("nan")
)
_WHOLE = re.compile(r"[-+]?(0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|[1-9][0-9_]*|0)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NUMBER_STARTS = frozenset("+-.0123456789")
_LIKE_PLAIN = frozenset(f"{_TAG}{name}" for name in ("int", "float", "bool", "null"))
_TEXTS = frozenset((f"{_TAG}str", f"{_TAG}binary", f"{_TAG}timestamp", "!"))
_COLLECTIONS = frozenset((None, "!", f"{_TAG}seq", f"{_TAG}map"))
_MERGE = "<<"
_MOST_VALUES = 5_000_000
_MOST_LEVELS = 200
_Event = Any
"""PyYAML has no types."""


class YamlFault(Exception):  # noqa: N818 # the caller makes the error of it, with the file's name
    """What is wrong with a document, and its line, from 1, if it has one."""

    def __init__(self, fault: str, line: int | None) -> None:
        """``fault`` has no full stop at its end."""
        super().__init__(fault)
        self.fault = fault
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """One document. ``number`` and ``line`` count from 1; ``items`` are the lines of a list of objects' items."""

    number: int
    value: object
    line: int
    items: tuple[int, ...] = ()


def documents(text: str) -> Iterator[Document]:
    """Yield the documents, empty ones as None. Raises YamlFault for what is no YAML, or none that kubectl takes."""
    last = text.count("\n") + (not text.endswith("\n"))
    number = 0
    try:
        parser = CParser(text)
        while not isinstance(event := parser.get_event(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                number += 1
                yield _Reader(parser).document(number)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # At its end libyaml counts a line that is not there.
        raise YamlFault(str(error.problem or error.context), min(mark.line + 1, last) if mark else None) from error
    except YAMLError as error:
        position = getattr(error, "position", None)
        line = None if position is None else text.count("\n", 0, position) + 1
        raise YamlFault(str(getattr(error, "reason", error)), line) from error


class _Reader:
    """Makes the values of one document out of the parser's events. What an alias leads to is made once."""

    def __init__(self, parser: _Event) -> None:
        self._next = parser.get_event
        self._anchors: dict[str, tuple[object, int] | None] = {}
        self._count = 0
        self._item_lines: list[int] = []

    def document(self, number: int) -> Document:
        """The document whose start was read last."""
        event = self._next()
        value = self._value(event, 0)
        return Document(number, value, event.start_mark.line + 1, tuple(self._item_lines))

    def _value(self, event: _Event, level: int) -> object:
        self._count += 1
        if isinstance(event, AliasEvent):
            return self._alias(event)
        if event.anchor:
            self._anchors[event.anchor] = None
        before = self._count
        made: object
        if isinstance(event, ScalarEvent):
            made = _scalar(event)
        elif level >= _MOST_LEVELS:
            raise _fault(event, f"it is nested deeper than {_MOST_LEVELS} levels")
        elif event.tag not in _COLLECTIONS:
            raise _fault(event, f"the tag {event.tag} means nothing here")
        elif isinstance(event, SequenceStartEvent):
            made = self._sequence(level)
        else:
            made = self._mapping(level)
        if event.anchor:
            self._anchors[event.anchor] = made, self._count - before + 1
        return made

    def _alias(self, event: _Event) -> object:
        if event.anchor not in self._anchors:
            raise _fault(event, f"nothing has the anchor {event.anchor}")
        found = self._anchors[event.anchor]
        if found is None:
            raise _fault(event, f"the alias {event.anchor} leads to what it stands in")
        self._grow(found[1], event)
        return found[0]

    def _grow(self, size: int, event: _Event) -> None:
        self._count += size
        if self._count > _MOST_VALUES:
            raise _fault(event, f"aliases make more than {_MOST_VALUES} values of it")

    def _sequence(self, level: int) -> list[object]:
        made = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            made.append(self._value(event, level + 1))
        return made

    def _items(self) -> list[object]:
        """The items of a list of objects, whose lines are kept."""
        made = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            self._item_lines.append(event.start_mark.line + 1)
            made.append(self._value(event, 1))
        return made

    def _mapping(self, level: int) -> dict[object, object]:
        made: dict[object, object] = {}
        merged: list[object] = []
        while not isinstance(event := self._next(), MappingEndEvent):
            if isinstance(event, MappingStartEvent | SequenceStartEvent):
                raise _fault(event, "a key is a mapping or a list")
            key = self._value(event, level)
            if key == _MERGE and isinstance(event, ScalarEvent) and event.implicit[0]:
                merged.extend(self._merged(self._next(), level))
                continue
            if not isinstance(key, str | int | float | None):
                raise _fault(event, "a key is a mapping or a list")
            if key in made:
                raise _fault(event, f"the key {key} stands there twice")
            event = self._next()
            plain = level == 0 and key == "items" and isinstance(event, SequenceStartEvent) and not event.anchor
            made[key] = self._items() if plain else self._value(event, level + 1)
        for other in merged:
            for key, value in other.items() if isinstance(other, dict) else ():
                made.setdefault(key, value)
        return made

    def _merged(self, event: _Event, level: int) -> list[object]:
        found = self._value(event, level + 1)
        others = found if isinstance(found, list) else [found]
        if not all(isinstance(each, dict) for each in others):
            raise _fault(event, "<< takes a mapping, or a list of them")
        self._grow(sum(len(each) for each in others if isinstance(each, dict)), event)
        return others


def _scalar(event: _Event) -> object:
    tag, written = event.tag, event.value
    if tag is None:
        return _plain(written) if event.implicit[0] else written
    if tag in _TEXTS:
        return written
    if tag in _LIKE_PLAIN:
        found = _plain(written)
        return float(found) if isinstance(found, int) and tag == f"{_TAG}float" else found
    raise _fault(event, f"the tag {tag} means nothing here")


def _plain(written: str) -> object:
    if written in _WORDS:
        return _WORDS[written]
    if written[0] not in _NUMBER_STARTS:
        return written
    if _WHOLE.fullmatch(written):
        return _whole(written.replace("_", ""))
    if _FLOAT.fullmatch(written):
        return float(written)
    return written


def _whole(digits: str) -> int:
    bare = digits.lstrip("+-").lower()
    # Python wants 0o755 where Go takes 0755 too.
    octal = len(bare) > 1 and bare[0] == "0" and bare[1].isdigit()
    return int(digits, 8) if octal else int(digits, 0)


def _fault(event: _Event, fault: str) -> YamlFault:
    return YamlFault(fault, event.start_mark.line + 1)
