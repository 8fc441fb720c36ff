"""The one editor of YAML: values are added or set, and every other byte stays: comments, order, quotes, line ends."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from multiarch.errors import KeyPath, MultiarchError
from multiarch.yaml_text.additions import APPEND, Addition
from multiarch.yaml_text.nodes import AliasNode, MappingNode, ScalarNode, SequenceNode, YamlNode
from multiarch.yaml_text.positions import (
    find_end,
    find_end_before,
    find_flow_end,
    find_newline,
    find_next_line,
    find_pair_end,
)
from multiarch.yaml_text.reader import read_nodes
from multiarch.yaml_text.scalars import read_pulumi_scalar

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_TEXT = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))
_REST_OF_LINE = re.compile(r"[ \t]*([ \t]#[^\r\n]*)?(?=\r?\n|\Z)")
_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
_BOM = "\ufeff"
_STEP = 2
_IN_PLACE = (0, 0, 0)
"""The order of an edit that has its place for itself."""


class EditError(MultiarchError):
    """A value can't be added or set without changing more than requested. ``line`` counts from 1 within the text."""

    def __init__(
        self, message: str, line: int, *, hint: str = "Write it out at this place, or edit it by hand."
    ) -> None:
        """``message`` is a clause without a full stop."""
        super().__init__(message, hint=hint)
        self.line = line


@dataclass(frozen=True, slots=True)
class _Edit:
    """``text`` in place of what is between ``start`` and ``end``; edits of one place go by ``order``."""

    start: int
    end: int
    order: tuple[int, int, int]
    text: str


def insert_additions(text: str, root: YamlNode, additions: Iterable[Addition]) -> str:
    """Return ``text`` with all additions made; ``root`` is from :func:`multiarch.yaml_text.reader.read_nodes`.

    Raises EditError where an alias, an aliased anchor or a merge is on the path, because other places would change too.
    """
    return _edited(text, _Editor(text, root), additions)


def set_value(text: str, addition: Addition, *, below: str = "") -> str:
    """Return a string that Pulumi reads with one value added, or set in place of a single value that is there.

    Missing mappings on the path are added. A new key goes below the key ``below``, or to the end of its mapping.
    Strings are written in quotes. Raises YamlError for a string that is not one YAML document, EditError where the path
    leads through something other than a mapping, or through one that other places share.
    """
    mark = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(_BOM)
    root = read_nodes(body, read_pulumi_scalar)
    if root is None:
        raise EditError("the file is empty", 1, hint="")
    return mark + _edited(body, _Editor(body, root, quoted=True, below=below), [addition])


def _edited(text: str, editor: _Editor, additions: Iterable[Addition]) -> str:
    edits = [edit for number, addition in enumerate(additions) for edit in editor.edits(addition, number)]
    parts, done = [], 0
    for edit in sorted(edits, key=lambda each: (each.start, each.order)):
        parts += [text[done : edit.start], edit.text]
        done = max(done, edit.end)
    return "".join((*parts, text[done:]))


class _Editor:
    """Turns additions to one string into edits."""

    def __init__(self, text: str, root: YamlNode, *, quoted: bool = False, below: str = "") -> None:
        self._text = text
        self._root = root
        self._quoted = quoted
        self._below = below
        self._added: Counter[int] = Counter()

    def edits(self, addition: Addition, number: int) -> Iterator[_Edit]:
        *way, last = addition.path
        container, value = self._own(self._root), addition.value
        for depth, key in enumerate(way):
            found = self._inner(container, key, addition.path[:depth])
            if found is None:
                for name in reversed(addition.path[depth + 1 :]):
                    value = {str(name): value}
                last = key
                break
            container = self._own(found)
        # What is added deeper down stands before what is added around it.
        order = (-len(addition.path), 1, number)
        if isinstance(container, SequenceNode) and last == APPEND:
            yield self._in_sequence(container, value, order)
        elif isinstance(container, MappingNode):
            yield from self._in_mapping(container, str(last), value, addition, order)
        else:
            raise self._not_a_mapping(container, way)

    def _own(self, node: YamlNode) -> YamlNode:
        """Return what is at a node. Raises EditError where other places have the same."""
        if isinstance(node, AliasNode):
            raise EditError(f"*{node.target.anchor} refers to a value that other places share", node.line)
        if node.aliased:
            raise EditError(f"other places share the value of &{node.anchor}", node.line)
        return node

    def _inner(self, container: YamlNode, key: str | int, way: KeyPath) -> YamlNode | None:
        """Return what a key leads to; None for a key that is missing."""
        if isinstance(container, SequenceNode) and isinstance(key, int):
            return container.items[key]
        if not isinstance(container, MappingNode):
            raise self._not_a_mapping(container, way)
        if found := container.pair(str(key)):
            return found[1]
        if str(key) in container.values:
            raise EditError(f"{key} is merged in by <<", container.line)
        return None

    def _not_a_mapping(self, node: YamlNode, way: Iterable[str | int]) -> EditError:
        return EditError(f"{'.'.join(map(str, way))} is not a mapping", node.line, hint="")

    def _in_sequence(self, container: SequenceNode, value: object, order: tuple[int, int, int]) -> _Edit:
        if container.flow:
            return self._in_flow(container, self._flow(value), order)
        at = find_next_line(self._text, find_end(self._text, container))
        column = container.dash - (self._text.rfind("\n", 0, container.dash) + 1)
        return self._lines(at, self._items([value], column, 0), order)

    def _in_mapping(
        self, container: MappingNode, key: str, value: object, addition: Addition, order: tuple[int, int, int]
    ) -> Iterator[_Edit]:
        found = container.pair(key)
        if container.flow:
            if found is None:
                yield self._in_flow(container, f"{key}: {self._flow(value)}", order)
            else:
                yield self._in_place(found[1], self._flow(value), addition)
            return
        lines = self._pairs({key: value}, container.pairs[0][0].column, self._offset_of_lists(container))
        if found and len(lines) == 1:
            yield self._in_place(found[1], self._flow(value), addition)
        elif found:
            # Only the lines below the key: the key stays, with whatever comment is behind it.
            yield self._in_place(found[1], "", addition)
            at = find_next_line(self._text, find_pair_end(self._text, *found))
            yield self._lines(at, lines[1:], (order[0], 0, order[2]))
        else:
            lines[-1] += f" # {addition.comment}" if addition.comment else ""
            before = container.pair(self._below) or container.pairs[-1]
            at = find_next_line(self._text, find_pair_end(self._text, *before))
            yield self._lines(at, [*self._gap(container, before), *lines], order)

    def _in_place(self, value: YamlNode, text: str, addition: Addition) -> _Edit:
        """Put a string, or what comes in the lines below, in place of a single value."""
        value = self._own(value)
        if not isinstance(value, ScalarNode) or value.style in {"|", ">"}:
            where = ".".join(map(str, addition.path))
            raise EditError(f"{where} is not a single value, so it can't be replaced", value.line, hint="")
        anchor, comment, end = f"&{value.anchor}" if value.anchor else "", "", value.end
        if not text:
            # With the blanks in front: what is left of the line ends without any.
            start = end if value.empty else find_end_before(self._text, value.start, " \t")
            return _Edit(start, end, _IN_PLACE, f" {anchor}" if anchor else "")
        # Within braces something may follow on the line, and a comment would swallow it.
        if addition.comment and (rest := _REST_OF_LINE.match(self._text, end)):
            end, comment = rest.end(), f" # {addition.comment}"
        written = f"{anchor} {text}" if anchor else text
        blank = " " if value.empty and self._text[value.start - 1] == ":" else ""
        return _Edit(value.start, end, _IN_PLACE, f"{blank}{written}{comment}")

    def _gap(self, container: MappingNode, before: tuple[YamlNode, YamlNode]) -> list[str]:
        """Return a blank line, if the pair that is before a new one has one before it."""
        at = container.pairs.index(before)
        if at == 0:
            return []
        between = self._text[find_pair_end(self._text, *container.pairs[at - 1]) : before[0].start]
        return [""] if _BLANK_LINE.search(between) else []

    def _in_flow(self, container: MappingNode | SequenceNode, text: str, order: tuple[int, int, int]) -> _Edit:
        children = container.pairs if isinstance(container, MappingNode) else container.items
        first = not children and not self._added[id(container)]
        self._added[id(container)] += 1
        at = find_flow_end(self._text, container)
        return _Edit(at, at, order, text if first else f", {text}")

    def _lines(self, at: int, lines: list[str], order: tuple[int, int, int]) -> _Edit:
        newline = find_newline(self._text)
        body = newline.join(lines)
        unfinished = at > 0 and self._text[at - 1] != "\n"
        return _Edit(at, at, order, f"{newline}{body}" if unfinished else f"{body}{newline}")

    # How values are written.

    def _offset_of_lists(self, container: MappingNode) -> int:
        """Return the mapping's offset, or else the document's; 0 where there is no list."""
        found = _offset_of_lists(container)
        if found is None:
            found = _offset_of_lists(self._root)
        return min(found or 0, _STEP)

    def _pairs(self, value: Mapping[str, object], column: int, lists: int) -> list[str]:
        lines: list[str] = []
        for key, inner in value.items():
            head = f"{' ' * column}{key}:"
            if isinstance(inner, dict):
                lines += [head, *self._pairs(inner, column + _STEP, lists)]
            elif isinstance(inner, list) and any(isinstance(each, dict) for each in inner):
                lines += [head, *self._items(inner, column + lists, lists)]
            else:
                lines.append(f"{head} {self._flow(inner)}")
        return lines

    def _items(self, items: list[object], column: int, lists: int) -> list[str]:
        lines: list[str] = []
        for item in items:
            blanks = " " * column
            inner = self._pairs(item, column + _STEP, lists) if isinstance(item, dict) else [f"  {self._flow(item)}"]
            lines += [f"{blanks}- {inner[0].lstrip()}", *inner[1:]]
        return lines

    def _flow(self, value: object) -> str:
        """Write a value on one line, ``{key: arch, values: [arm64]}``, strings in quotes where they need them."""
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key}: {self._flow(inner)}" for key, inner in value.items()) + "}"
        if isinstance(value, list):
            return f"[{', '.join(map(self._flow, value))}]"
        plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT
        return str(value) if plain and not self._quoted else json.dumps(value, ensure_ascii=False)


def _offset_of_lists(container: YamlNode) -> int | None:
    """Return how much further in than their key the first list below a node is; ``None`` where there is none."""
    if isinstance(container, SequenceNode):
        inner = container.items
    elif isinstance(container, MappingNode) and not container.flow:
        for key, value in container.pairs:
            if isinstance(value, SequenceNode) and not value.flow and value.line > key.line:
                return max(0, value.items[0].column - _STEP - key.column)
        inner = [value for _, value in container.pairs]
    else:
        return None
    return next((found for each in inner if (found := _offset_of_lists(each)) is not None), None)
