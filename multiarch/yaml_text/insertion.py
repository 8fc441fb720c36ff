"""Making additions in a YAML text: lines are added, and every byte that is there stays as it is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from multiarch.errors import MultiarchError
from multiarch.yaml_text.additions import APPEND, Addition
from multiarch.yaml_text.ends import colon_end, end_before, end_in_flow, end_of, line_after, newline_of, pair_end
from multiarch.yaml_text.tree import Alias, Mapping, Piece, Scalar, Sequence

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_TEXT = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))
_STEP = 2


class SharedError(MultiarchError):
    """An addition would reach further than asked: its place is shared through an anchor, or merged in by ``<<``.

    ``line`` counts from 1 within the text.
    """

    def __init__(self, what: str, line: int) -> None:
        """``what`` is a clause without a full stop."""
        super().__init__(what, hint="Write it out at this place, or change it by hand.")
        self.line = line


@dataclass(frozen=True, slots=True)
class _Edit:
    """``text`` in place of what stands from ``start`` to ``end``; edits of one place go by ``order``."""

    start: int
    end: int
    order: tuple[int, int, int]
    text: str


def insert(text: str, root: Piece, additions: Iterable[Addition]) -> str:
    """Return ``text`` with all additions made; ``root`` is what :func:`yaml_tree.parse` made of ``text``.

    Raises SharedError where an anchor, an alias or a merge is in the way.
    """
    writer = _Writer(text, root)
    edits = [edit for number, addition in enumerate(additions) for edit in writer.edits(addition, number)]
    parts, done = [], 0
    for edit in sorted(edits, key=lambda each: (each.start, each.order)):
        parts += [text[done : edit.start], edit.text]
        done = max(done, edit.end)
    return "".join((*parts, text[done:]))


class _Writer:
    """Turns additions to one text into edits."""

    def __init__(self, text: str, root: Piece) -> None:
        self._text = text
        self._root = root
        self._added: Counter[int] = Counter()

    def edits(self, addition: Addition, number: int) -> Iterator[_Edit]:
        container = self._root
        for depth, key in enumerate(addition.path[:-1]):
            _refuse_shared(container)
            container = _inner(container, key, addition.path[: depth + 1])
        _refuse_shared(container)
        last = addition.path[-1]
        # What is added deeper down stands before what is added around it.
        order = (-len(addition.path), 1, number)
        if isinstance(container, Sequence) and last == APPEND:
            yield self._in_sequence(container, addition.value, order)
        elif isinstance(container, Mapping):
            yield from self._in_mapping(container, str(last), addition.value, order)
        else:
            raise ValueError(addition.path)

    def _in_sequence(self, container: Sequence, value: object, order: tuple[int, int, int]) -> _Edit:
        if container.flow:
            return self._in_flow(container, flow(value), order)
        at = line_after(self._text, end_of(self._text, container))
        column = container.dash - (self._text.rfind("\n", 0, container.dash) + 1)
        return self._lines(at, _items([value], column, 0), order)

    def _in_mapping(self, container: Mapping, key: str, value: object, order: tuple[int, int, int]) -> Iterator[_Edit]:
        found = container.child(key)
        if container.flow:
            if found is None:
                yield self._in_flow(container, f"{key}: {flow(value)}", order)
            else:
                yield self._in_place_of_null(*found, f" {flow(value)}")
            return
        column = container.pairs[0][0].column
        lists = self._offset_of_lists(container)
        if found is None:
            at = line_after(self._text, pair_end(self._text, *container.pairs[-1]))
            yield self._lines(at, _pairs({key: value}, column, lists), order)
            return
        # Only the lines below the key: the key stays, with whatever comment is behind it.
        yield self._in_place_of_null(*found, "")
        at = line_after(self._text, pair_end(self._text, *found))
        yield self._lines(at, _pairs({key: value}, column, lists)[1:], (order[0], 0, order[2]))

    def _offset_of_lists(self, container: Mapping) -> int:
        """As the mapping has it, or else the document; 0 where there is no list."""
        found = _offset_of_lists(container)
        if found is None:
            found = _offset_of_lists(self._root)
        return min(found or 0, _STEP)

    def _in_place_of_null(self, key: Piece, value: Piece, text: str) -> _Edit:
        _refuse_shared(value)
        if isinstance(value, Scalar) and value.empty:
            colon = colon_end(self._text, key)
            return (
                _Edit(key.end, key.end, (0, 0, 0), f":{text}")
                if colon is None
                else _Edit(colon, colon, (0, 0, 0), text)
            )
        # With the blanks in front: what is left of the line ends without any.
        return _Edit(end_before(self._text, value.start, " \t"), value.end, (0, 0, 0), text)

    def _in_flow(self, container: Mapping | Sequence, text: str, order: tuple[int, int, int]) -> _Edit:
        children = container.pairs if isinstance(container, Mapping) else container.items
        first = not children and not self._added[id(container)]
        self._added[id(container)] += 1
        at = end_in_flow(self._text, container)
        return _Edit(at, at, order, text if first else f", {text}")

    def _lines(self, at: int, lines: list[str], order: tuple[int, int, int]) -> _Edit:
        newline = newline_of(self._text)
        body = newline.join(lines)
        unfinished = at > 0 and self._text[at - 1] != "\n"
        return _Edit(at, at, order, f"{newline}{body}" if unfinished else f"{body}{newline}")


def _refuse_shared(piece: Piece) -> None:
    if isinstance(piece, Alias):
        raise SharedError(f"*{piece.target.anchor} stands here, which other places mean too", piece.line)
    if piece.aliased:
        raise SharedError(f"&{piece.anchor} stands here, which other places mean too", piece.line)


def _inner(container: Piece, key: str | int, path: tuple[str | int, ...]) -> Piece:
    if isinstance(container, Sequence) and isinstance(key, int):
        return container.items[key]
    if isinstance(container, Mapping):
        found = container.child(str(key))
        if found is not None:
            return found[1]
        raise SharedError(f"{path[-1]} is not written here, but merged in by <<", container.line)
    raise ValueError(path)


# -- how things are written --------------------------------------------------------------------------------------------


def _offset_of_lists(container: Piece) -> int | None:
    """How much further in than their key the first list in a piece stands; ``None`` where there is none."""
    if isinstance(container, Sequence):
        inner = container.items
    elif isinstance(container, Mapping) and not container.flow:
        for key, value in container.pairs:
            if isinstance(value, Sequence) and not value.flow and value.line > key.line:
                return max(0, value.items[0].column - _STEP - key.column)
        inner = [value for _, value in container.pairs]
    else:
        return None
    return next((found for each in inner if (found := _offset_of_lists(each)) is not None), None)


def _pairs(value: dict[str, object], column: int, lists: int) -> list[str]:
    lines: list[str] = []
    for key, inner in value.items():
        head = f"{' ' * column}{key}:"
        if isinstance(inner, dict):
            lines += [head, *_pairs(inner, column + _STEP, lists)]
        elif isinstance(inner, list) and any(isinstance(each, dict) for each in inner):
            lines += [head, *_items(inner, column + lists, lists)]
        else:
            lines.append(f"{head} {flow(inner)}")
    return lines


def _items(items: list[object], column: int, lists: int) -> list[str]:
    lines: list[str] = []
    for item in items:
        inner = _pairs(item, column + _STEP, lists) if isinstance(item, dict) else [f"{' ' * column}  {flow(item)}"]
        lines += [f"{' ' * column}- {inner[0].lstrip()}", *inner[1:]]
    return lines


def flow(value: object) -> str:
    """Write a value on one line, ``{key: arch, values: [arm64]}``, text in quotes where it needs them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    return json.dumps(value, ensure_ascii=False)
