"""YAML as a tree that knows where everything stands, aliases and merges included.

The usual composers put an anchor's node in place of its aliases, which hides where the alias stands and that a change
would reach further than it looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.nodes import ScalarNode

from multiarch.errors import MultiarchError

_MERGE = "tag:yaml.org,2002:merge"
_LARGEST = 2_000_000
"""Values that a document may have with its aliases written out: more is an attack or a mistake."""


class YamlFault(MultiarchError):  # noqa: N818 (a fault in a text; who knows the file makes the error)
    """A text that is no YAML, or none that can be read safely. ``line`` counts from 1 within the text."""

    def __init__(self, message: str, line: int | None) -> None:
        """``message`` is a clause without a full stop."""
        super().__init__(message)
        self.line = line


@dataclass(slots=True, eq=False)
class Piece:
    """A value in a text: ``start`` and ``end`` are offsets, ``line`` counts from 1, ``column`` from 0.

    A block collection's ``end`` says nothing: whatever follows it begins there. ``size`` counts the values in it, with
    aliases written out. ``aliased`` is set when an alias leads here.
    """

    start: int
    end: int
    line: int
    column: int
    anchor: str | None = None
    aliased: bool = False
    size: int = 1


@dataclass(slots=True, eq=False)
class Scalar(Piece):
    """One value; ``style`` is ``"``, ``'``, ``|``, ``>`` or empty."""

    value: object = None
    style: str = ""
    merge: bool = False

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


def parse(text: str) -> Piece | None:
    """Read the one document in ``text``, or say ``None`` if there is none.

    Raises YamlFault for what is no YAML or more than one document, for a key that stands twice in a mapping, for an
    alias within its own anchor, and for aliases that multiply.
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        return _Reader(text, yaml, iter(yaml.parse(text))).document()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlFault(str(error.problem or error.context), mark.line + 1 if mark else None) from error
    except YAMLError as error:
        raise YamlFault(str(error), None) from error
    except RecursionError as error:
        raise YamlFault("it is nested too deeply", None) from error


class _Reader:
    """Makes pieces of events."""

    def __init__(self, text: str, yaml: YAML, events: Iterator[Event]) -> None:
        self._text = text
        self._yaml = yaml
        self._events = events
        self._anchors: dict[str, Piece] = {}
        self._open: set[str] = set()

    def document(self) -> Piece | None:
        root: Piece | None = None
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise YamlFault("a second document begins", event.start_mark.line + 1)
                root = self._piece(next(self._events))
                if not isinstance(next(self._events), DocumentEndEvent):  # pragma: no cover (the parser's promise)
                    raise YamlFault("the document does not end", None)
        return root

    def _piece(self, event: Event) -> Piece:
        place = (event.start_mark.index, event.end_mark.index, event.start_mark.line + 1, event.start_mark.column)
        if isinstance(event, AliasEvent):
            return self._alias(event, place)
        name = event.anchor if isinstance(event, NodeEvent) else None
        if name:
            self._open.add(name)
        made: Piece
        if isinstance(event, ScalarEvent):
            made = self._scalar(event, place)
        elif isinstance(event, MappingStartEvent):
            made = self._mapping(event, place)
        elif isinstance(event, SequenceStartEvent):
            made = self._sequence(event, place)
        else:  # pragma: no cover (the parser's promise)
            raise YamlFault(f"{type(event).__name__} is out of place", event.start_mark.line + 1)
        if name:
            self._open.discard(name)
            made.anchor = name
            self._anchors[name] = made
        if made.size > _LARGEST:
            raise YamlFault("its aliases stand for millions of values", made.line)
        return made

    def _alias(self, event: AliasEvent, place: tuple[int, int, int, int]) -> Alias:
        if event.anchor in self._open:
            raise YamlFault(f"*{event.anchor} stands within what it means", place[2])
        if event.anchor not in self._anchors:
            raise YamlFault(f"*{event.anchor} has no anchor before it", place[2])
        target = self._anchors[event.anchor]
        target.aliased = True
        return Alias(*place, size=target.size, target=target)

    def _scalar(self, event: ScalarEvent, place: tuple[int, int, int, int]) -> Scalar:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._yaml.resolver.resolve(ScalarNode, event.value, event.implicit)
        if tag == _MERGE:
            return Scalar(*place, value=event.value, merge=True)
        node = ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        try:
            value: object = self._yaml.constructor.construct_object(node)
        except (ValueError, OverflowError) as error:
            raise YamlFault(f"{event.value!r} can't be read: {error}", place[2]) from error
        return Scalar(*place, value=value, style=event.style or "")

    def _mapping(self, event: MappingStartEvent, place: tuple[int, int, int, int]) -> Mapping:
        made = Mapping(*place, flow=bool(event.flow_style))
        names = set()
        while isinstance(event_of_key := next(self._events), NodeEvent):
            key = self._piece(event_of_key)
            value = self._piece(next(self._events))
            name = key.value if isinstance(key, Scalar) else None
            if name is not None and name in names:
                raise YamlFault(f"the key {name} stands twice", key.line)
            names.add(name)
            made.pairs.append((key, value))
            made.size += key.size + value.size
        made.end = event_of_key.end_mark.index
        return made

    def _sequence(self, event: SequenceStartEvent, place: tuple[int, int, int, int]) -> Sequence:
        # The event begins at the first dash or, with an anchor or a tag in front, ends at it or behind it.
        dash = next((at for at in (place[0], place[1] - 1, place[1]) if self._text[at : at + 1] == "-"), place[0])
        made = Sequence(*place, flow=bool(event.flow_style), dash=dash)
        while isinstance(inner := next(self._events), NodeEvent):
            item = self._piece(inner)
            made.items.append(item)
            made.size += item.size
        made.end = inner.end_mark.index
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


def plain(piece: Piece | None) -> object:
    """Return the value as JSON has it, merges made and aliases resolved; what is aliased is one object everywhere.

    Raises YamlFault for keys that are no text or number, and for a merge of something other than mappings.
    """
    return _plain(piece, {}) if piece is not None else None


def _plain(piece: Piece, done: dict[int, object]) -> object:
    if isinstance(piece, Alias):
        return _plain(piece.target, done)
    if isinstance(piece, Scalar):
        return piece.value
    if id(piece) not in done:
        made: object
        if isinstance(piece, Sequence):
            made = [_plain(item, done) for item in piece.items]
        elif isinstance(piece, Mapping):
            made = _plain_mapping(piece, done)
        else:  # pragma: no cover (there are no others)
            raise TypeError(piece)
        done[id(piece)] = made
    return done[id(piece)]


def _plain_mapping(piece: Mapping, done: dict[int, object]) -> dict[object, object]:
    merged: dict[object, object] = {}
    own: dict[object, object] = {}
    for key, value in piece.pairs:
        real = key.target if isinstance(key, Alias) else key
        if not isinstance(real, Scalar):
            raise YamlFault("a key is no text", key.line)
        if real.merge:
            found = _plain(value, done)
            for each in found if isinstance(found, list) else [found]:
                if not isinstance(each, dict):
                    raise YamlFault("<< takes a mapping, or a list of them", key.line)
                merged = {**each, **merged}
        else:
            own[real.value] = _plain(value, done)
    return {**merged, **own}
