"""YAML as a tree that knows where everything stands, with aliases and merges as they are written.

The usual composers put an anchor's node in place of its aliases, which hides where the alias stands and that a change
would reach further than it looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from multiarch.yaml_text.events import MOST_LEVELS, Parser, YamlFault, parsing
from multiarch.yaml_text.scalars import value_of

_BOM = "\ufeff"
_Event = Any
"""PyYAML has no types."""
_Place = tuple[int, int, int, int]


@dataclass(slots=True, eq=False)
class Piece:
    """A value in a text: ``start`` and ``end`` are offsets, ``line`` counts from 1, ``column`` from 0.

    A block collection's ``end`` says nothing: whatever follows it begins there. ``aliased`` is set when an alias leads
    here.
    """

    start: int
    end: int
    line: int
    column: int
    anchor: str | None = None
    aliased: bool = False


@dataclass(slots=True, eq=False)
class Scalar(Piece):
    """One value; ``text`` is it without quotes, ``style`` is ``"``, ``'``, ``|``, ``>`` or empty."""

    value: object = None
    text: str = ""
    style: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing is written: what stands for null, at a place that is not its own."""
        return self.start == self.end


@dataclass(slots=True, eq=False)
class Alias(Piece):
    """``*name``."""

    target: Piece = field(kw_only=True)


@dataclass(slots=True, eq=False)
class Mapping(Piece):
    """Keys and values in their order, ``<<`` among them."""

    flow: bool = False
    pairs: list[tuple[Piece, Piece]] = field(default_factory=list)

    def child(self, name: str) -> tuple[Piece, Piece] | None:
        """The pair of a key that is written here, not merged into it."""
        return next((pair for pair in self.pairs if isinstance(pair[0], Scalar) and pair[0].value == name), None)


@dataclass(slots=True, eq=False)
class Sequence(Piece):
    """Elements in their order; ``dash`` is the offset of the first one's, in a block."""

    flow: bool = False
    items: list[Piece] = field(default_factory=list)
    dash: int = 0


def parse(text: str) -> Piece:
    """Read the one document in ``text``, which :mod:`multiarch.yaml_text.values` takes.

    Raises YamlFault for what is no YAML or not one document, for an alias that leads nowhere, and for a byte order mark
    in front, which libyaml does not count.
    """
    if text.startswith(_BOM):
        raise YamlFault("a byte order mark stands in the middle of the text", 1)
    with parsing(text) as parser:
        return _Reader(text, parser).document()


class _Reader:
    """Makes pieces of events."""

    def __init__(self, text: str, parser: Parser) -> None:
        self._text = text
        self._next = parser.get_event
        self._anchors: dict[str, Piece] = {}

    def document(self) -> Piece:
        root: Piece | None = None
        while not isinstance(event := self._next(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise YamlFault("a second document begins", event.start_mark.line + 1)
                root = self._piece(self._next(), 0)
        if root is None:
            raise YamlFault("there is no document", None)
        return root

    def _piece(self, event: _Event, level: int) -> Piece:
        start, end = event.start_mark, event.end_mark
        place = (start.index, end.index, start.line + 1, start.column)
        if isinstance(event, AliasEvent):
            return self._alias(event, place)
        made: Piece
        if isinstance(event, ScalarEvent):
            made = Scalar(*place, value=value_of(event), text=event.value, style=event.style)
        elif level >= MOST_LEVELS:
            raise YamlFault(f"it is nested deeper than {MOST_LEVELS} levels", place[2])
        elif isinstance(event, MappingStartEvent):
            made = self._mapping(event, place, level + 1)
        else:
            made = self._sequence(event, place, level + 1)
        if event.anchor:
            made.anchor = event.anchor
            self._anchors[event.anchor] = made
        return made

    def _alias(self, event: _Event, place: _Place) -> Alias:
        # What stands within its own anchor is not there yet, and may have that of another before it.
        target = self._anchors.get(event.anchor)
        if target is None:
            raise YamlFault(f"*{event.anchor} has no anchor before it", place[2])
        target.aliased = True
        return Alias(*place, target=target)

    def _mapping(self, event: _Event, place: _Place, level: int) -> Mapping:
        made = Mapping(*place, flow=bool(event.flow_style))
        while not isinstance(event := self._next(), MappingEndEvent):
            made.pairs.append((self._piece(event, level), self._piece(self._next(), level)))
        made.end = event.end_mark.index
        return made

    def _sequence(self, event: _Event, place: _Place, level: int) -> Sequence:
        # The event begins at the first dash or, with an anchor or a tag in front, ends at it or behind it.
        dash = next((at for at in (place[0], place[1] - 1, place[1]) if self._text[at : at + 1] == "-"), place[0])
        made = Sequence(*place, flow=bool(event.flow_style), dash=dash)
        while not isinstance(event := self._next(), SequenceEndEvent):
            made.items.append(self._piece(event, level))
        made.end = event.end_mark.index
        return made


def line_of(piece: Piece, path: tuple[str | int, ...]) -> int:
    """The line, from 1, of what stands at ``path`` in a piece, or of the last thing on the way that is written."""
    for key in path:
        if isinstance(piece, Alias):
            piece = piece.target
        if isinstance(piece, Mapping) and (found := piece.child(str(key))):
            piece = found[1]
        elif isinstance(piece, Sequence) and isinstance(key, int):
            piece = piece.items[key]
        else:
            break
    return piece.line
