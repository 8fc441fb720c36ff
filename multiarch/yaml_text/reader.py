"""The one reader of YAML: libyaml parses, and what its events mean is decided here, for every dialect.

:func:`read_documents` gives plain values, :func:`read_nodes` the same as nodes that know their positions. They are
two because nodes take almost four times the time and more than twice the memory (77 MB instead of 32 MB for 2,000
pods), which is too much for the 10,000 pods of a cluster; aliases, merges, duplicate keys, limits and errors are the
same code. A duplicate key is rejected, as by Pulumi, where kubectl takes the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from multiarch.frozen import dataclass
from multiarch.yaml_text.events import Event, Parser, YamlError, YamlFault, open_parser
from multiarch.yaml_text.nodes import AliasNode, MappingNode, ScalarNode, SequenceNode, YamlNode, get_target
from multiarch.yaml_text.scalars import (
    COLLECTION_TAGS,
    Dialect,
    read_kubernetes_scalar,
    reject_tag,
)

MOST_LEVELS = 200
"""How deep values may be nested: more is an attack or a mistake."""
MOST_VALUES = 5_000_000
"""How many values aliases may make of a document: more is an attack."""
_MERGE = "<<"
"""As a plain key: the mappings behind it are merged into the one it is in."""
_COLLECTION_AS_KEY = "a list or a mapping can't be a key"
_BOM = "\ufeff"
_SHOWN = 60
_Made = Any
"""What a reader makes of a value: the value itself, or its node."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document. ``number`` and ``line`` count from 1; ``items`` are the lines of a list of objects' items."""

    number: int
    value: object
    line: int
    items: tuple[int, ...] = ()


def read_documents(text: str) -> Iterator[Document]:
    """Yield the documents as kubectl reads them, empty ones as None. Raises YamlError."""
    number = 0
    with open_parser(text) as parser:
        while not isinstance(event := parser.get_event(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                number += 1
                yield _ValueReader(parser, read_kubernetes_scalar, MOST_VALUES).document(number)


def read_document(text: str) -> Document | None:
    """Read a string with one document or none as :func:`read_documents` does. Raises YamlError, also for a second."""
    found = read_documents(text)
    first = next(found, None)
    if first is not None and (second := next(found, None)) is not None:
        raise _second_document(second.line)
    return first


def read_nodes(
    text: str, dialect: Dialect = read_kubernetes_scalar, *, most_values: int = MOST_VALUES
) -> YamlNode | None:
    """Read the one document in ``text`` as nodes; None where there is none.

    A fault of a single value is kept with its node, and the value is then its text. Raises YamlError for what leaves no
    document to read, and for a byte order mark in front, which libyaml does not count.
    """
    if text.startswith(_BOM):
        raise YamlError(YamlFault("not-yaml", "not valid YAML: a byte order mark inside of the text", 1))
    root: YamlNode | None = None
    with open_parser(text) as parser:
        while not isinstance(event := parser.get_event(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise _second_document(event.start_mark.line + 1)
                root = _NodeReader(parser, dialect, most_values, text).read(parser.get_event(), 0)
    return root


def _second_document(line: int) -> YamlError:
    return YamlError(YamlFault("several-documents", "more than one YAML document", line))


def _error(event: Event, rule: str, message: str) -> YamlError:
    return YamlError(_at(event, YamlFault(rule, message)))


class _ValueReader:
    """Makes the values of one document. What an alias leads to is made once, and counted each time."""

    def __init__(self, parser: Parser, dialect: Dialect, most_values: int) -> None:
        self._next = parser.get_event
        self._dialect = dialect
        self._most_values = most_values
        self._anchors: dict[str, tuple[_Made, int] | None] = {}
        self._count = 0
        self._item_lines: dict[int, list[int]] = {}

    def document(self, number: int) -> Document:
        """Return the document whose start was read last."""
        event = self._next()
        value = self.read(event, 0)
        items = value.get("items") if isinstance(value, dict) else None
        return Document(number, value, event.start_mark.line + 1, tuple(self._item_lines.get(id(items), ())))

    def read(self, event: Event, level: int) -> _Made:
        """Make what begins with ``event``."""
        self._count += 1
        if isinstance(event, AliasEvent):
            return self._alias(event, self._anchored(event))
        anchor, before = event.anchor, self._count
        if anchor:
            self._anchors[anchor] = None
        if isinstance(event, ScalarEvent):
            made = self._scalar(event)
        elif level >= MOST_LEVELS:
            raise _error(event, "not-yaml", f"nested deeper than {MOST_LEVELS} levels")
        elif isinstance(event, SequenceStartEvent):
            made = self._sequence(event, level)
        else:
            made = self._mapping(event, level)
        if anchor:
            self._anchors[anchor] = made, self._count - before + 1
        return made

    def _anchored(self, event: Event) -> _Made:
        if event.anchor not in self._anchors:
            raise _error(event, "not-yaml", f"not valid YAML: *{event.anchor} has no anchor before it")
        found = self._anchors[event.anchor]
        if found is None:
            raise _error(event, "endless-alias", f"*{event.anchor} is inside of the value that it refers to")
        self._grow(found[1], event)
        return found[0]

    def _grow(self, size: int, event: Event) -> None:
        self._count += size
        if self._count > self._most_values:
            raise _error(event, "too-many-values", f"aliases expand to more than {self._most_values:,} values")

    def _sequence(self, start: Event, level: int) -> _Made:
        faults = self._tag_faults(start)
        items: list[_Made] = []
        # At this level it may be the items of a list of objects.
        lines = self._item_lines.setdefault(id(items), []) if level == 1 else None
        while not isinstance(event := self._next(), SequenceEndEvent):
            if lines is not None:
                lines.append(event.start_mark.line + 1)
            items.append(self.read(event, level + 1))
        return self._list(items, faults, start, event)

    def _mapping(self, start: Event, level: int) -> _Made:
        faults = self._tag_faults(start)
        pairs: list[tuple[_Made, _Made]] = []
        values: dict[object, _Made] = {}
        merged: list[dict[object, _Made]] = []
        while not isinstance(event := self._next(), MappingEndEvent):
            key, behind = self.read(event, level + 1), self._next()
            value = self.read(behind, level + 1)
            pairs.append((key, value))
            self._set_key_line(value, event)
            if isinstance(event, ScalarEvent) and event.value == _MERGE and event.implicit[0]:
                merged += self._sources(value, behind, faults)
                continue
            try:
                name = self._name(key)
                if name in values:
                    raise _repeated(name, self._line_of(values[name]))
            except YamlError as error:
                self._reject(faults, event, error.fault)
            else:
                values[name] = value
        for source in merged:
            for name, value in source.items():
                values.setdefault(name, value)
        return self._dict(values, pairs, faults, start, event)

    def _sources(self, value: _Made, event: Event, faults: list[YamlFault]) -> list[dict[object, _Made]]:
        """Return the mappings behind ``<<``; earlier ones win, and what is written beside them wins over all."""
        found = [self._values_of(each) for each in self._items_of(value)]
        sources = [each for each in found if each is not None]
        if len(sources) < len(found):
            message = "<< needs a mapping or a list of mappings"
            self._reject(faults, event, YamlFault("wrong-merge", message, path=(_MERGE,)))
        self._grow(sum(len(each) for each in sources), event)
        return sources

    def _tag_faults(self, start: Event) -> list[YamlFault]:
        faults: list[YamlFault] = []
        if start.tag not in COLLECTION_TAGS:
            self._reject(faults, start, reject_tag(start.tag).fault)
        return faults

    def _scalar(self, event: Event) -> _Made:
        tag: str | None = event.tag
        if tag is None and not event.implicit[0]:
            return event.value
        try:
            return self._dialect(event.value, tag)
        except YamlError as error:
            raise YamlError(_at(event, error.fault)) from None

    # What a reader of nodes does otherwise.

    def _reject(self, _faults: list[YamlFault], event: Event, fault: YamlFault) -> None:
        raise YamlError(_at(event, fault))

    def _alias(self, _event: Event, target: _Made) -> _Made:
        return target

    def _list(self, items: list[_Made], *_written: Any) -> _Made:
        return items

    def _dict(self, values: dict[object, _Made], *_written: Any) -> _Made:
        return values

    def _name(self, key: _Made) -> object:
        """Return a key's value. Raises YamlError for what can't be a key."""
        if isinstance(key, dict | list):
            raise YamlError(YamlFault("key-not-text", _COLLECTION_AS_KEY))
        return key

    def _set_key_line(self, value: _Made, event: Event) -> None:
        """Keep the line of the key in front of a value."""

    def _line_of(self, _value: _Made) -> int | None:
        """Return the line of the key in front of a value, if it is known."""
        return None

    def _items_of(self, made: _Made) -> list[_Made]:
        """Return a list's items; anything else by itself."""
        return made if isinstance(made, list) else [made]

    def _values_of(self, made: _Made) -> dict[object, _Made] | None:
        return made if isinstance(made, dict) else None


class _NodeReader(_ValueReader):
    """Makes nodes, which keep their faults. Keys are strings."""

    def __init__(self, parser: Parser, dialect: Dialect, most_values: int, text: str) -> None:
        super().__init__(parser, dialect, most_values)
        self._text = text

    def _scalar(self, event: Event) -> ScalarNode:
        value: object = event.value
        faults: tuple[YamlFault, ...] = ()
        try:
            value = super()._scalar(event)
        except YamlError as error:
            faults = (error.fault,)
        style = event.style or ""
        return ScalarNode(*_position(event), event.anchor, faults=faults, value=value, text=event.value, style=style)

    def _reject(self, faults: list[YamlFault], event: Event, fault: YamlFault) -> None:
        faults.append(_at(event, fault))

    def _sources(self, value: YamlNode, event: Event, faults: list[YamlFault]) -> list[dict[object, YamlNode]]:
        # What is written behind << is in no mapping's values, so its faults go to the mapping around it.
        written = [value, *value.items] if isinstance(value, SequenceNode) else [value]
        faults += (fault for each in written if not isinstance(each, ScalarNode) for fault in each.faults)
        return super()._sources(value, event, faults)

    def _alias(self, event: Event, target: YamlNode) -> AliasNode:
        target.aliased = True
        return AliasNode(*_position(event), target=target)

    def _list(self, items: list[YamlNode], *written: Any) -> SequenceNode:
        faults, start, end = written
        at = start.start_mark.index, start.end_mark.index
        # The event begins at the first dash or, with an anchor or a tag in front, ends at it or behind it.
        dash = next((each for each in (at[0], at[1] - 1, at[1]) if self._text[each : each + 1] == "-"), at[0])
        made = SequenceNode(*_position(start, end), start.anchor, faults=tuple(faults), flow=bool(start.flow_style))
        made.items, made.dash = items, dash
        return made

    def _dict(self, values: dict[object, YamlNode], *written: Any) -> MappingNode:
        pairs, faults, start, end = written
        made = MappingNode(*_position(start, end), start.anchor, faults=tuple(faults), flow=bool(start.flow_style))
        made.pairs, made.values = pairs, values
        return made

    def _name(self, key: YamlNode) -> str:
        inner = get_target(key)
        if not isinstance(inner, ScalarNode):
            if self._text[inner.start - 1 : inner.start + 1] == "{{":
                written = self._text[inner.start - 1 : inner.start - 1 + _SHOWN].partition("\n")[0].partition("}}")[0]
                raise YamlError(YamlFault("template", f"{written}}}}} is a placeholder of a template"))
            raise YamlError(YamlFault("key-not-text", _COLLECTION_AS_KEY))
        if inner.faults or not isinstance(inner.value, str):
            message = f"key {inner.text} is not a string" if inner.text else "empty key"
            raise YamlError(YamlFault("key-not-text", message))
        return inner.value

    def _set_key_line(self, value: YamlNode, event: Event) -> None:
        value.key_line = event.start_mark.line + 1

    def _line_of(self, value: YamlNode) -> int | None:
        return value.key_line

    def _items_of(self, made: YamlNode) -> list[YamlNode]:
        inner = get_target(made)
        return inner.items if isinstance(inner, SequenceNode) else [inner]

    def _values_of(self, made: YamlNode) -> dict[object, YamlNode] | None:
        inner = get_target(made)
        return inner.values if isinstance(inner, MappingNode) else None


def _position(start: Event, end: Event | None = None) -> tuple[int, int, int, int]:
    mark = start.start_mark
    return mark.index, (end or start).end_mark.index, mark.line + 1, mark.column


def _at(event: Event, fault: YamlFault) -> YamlFault:
    return replace(fault, line=event.start_mark.line + 1)


def _repeated(name: object, first: int | None) -> YamlError:
    where = f", first on line {first}" if first else ""
    return YamlError(YamlFault("duplicate-key", f"duplicate key {name}{where}", path=(str(name),)))
