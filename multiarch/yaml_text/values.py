"""YAML documents as kubectl reads them, fast: libyaml parses, and values are made here.

Unlike kubectl, a key that a mapping has twice is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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

from multiarch.yaml_text.events import MOST_LEVELS, YamlFault, parsing
from multiarch.yaml_text.scalars import COLLECTION_TAGS, MERGE, unknown_tag, value_of

_MOST_VALUES = 5_000_000
_Event = Any
"""PyYAML has no types."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document. ``number`` and ``line`` count from 1; ``items`` are the lines of a list of objects' items."""

    number: int
    value: object
    line: int
    items: tuple[int, ...] = ()


def documents(text: str) -> Iterator[Document]:
    """Yield the documents, empty ones as None. Raises YamlFault for what is no YAML, or none that kubectl takes."""
    number = 0
    with parsing(text) as parser:
        while not isinstance(event := parser.get_event(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                number += 1
                yield _Reader(parser).document(number)


def only_document(text: str) -> Document | None:
    """Read a text that holds one document or none. Raises YamlFault like :func:`documents`, and for a second one."""
    found = documents(text)
    first = next(found, None)
    if first is not None and (second := next(found, None)) is not None:
        raise YamlFault("a second document begins", second.line)
    return first


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
            made = value_of(event)
        elif level >= MOST_LEVELS:
            raise _fault(event, f"it is nested deeper than {MOST_LEVELS} levels")
        elif event.tag not in COLLECTION_TAGS:
            raise unknown_tag(event)
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
            if key == MERGE and isinstance(event, ScalarEvent) and event.implicit[0]:
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


def _fault(event: _Event, fault: str) -> YamlFault:
    return YamlFault(fault, event.start_mark.line + 1)
