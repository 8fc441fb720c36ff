"""What one list of boxes covers that another does not.

A box is the set of requests whose parts (who, action, resource, …) are each in a set of strings, and which meet all
tests. A policy statement is a box, and so is a rule of Kubernetes RBAC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from multiarch.review.permissions.conditions import Literal, Test, can_hold
from multiarch.review.permissions.effort import Effort, TooMuchEffortError
from multiarch.review.permissions.wildcards import EVERYTHING, Words, common

_MOST_PIECES = 400
_MOST_CELLS = 300
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """Requests whose parts are in ``parts``, in the same order for all boxes that are compared, and meet ``tests``."""

    parts: tuple[Words, ...]
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is left of a box: each part must be in all sets of its tuple."""

    parts: tuple[tuple[Words, ...], ...]
    literals: tuple[Literal, ...]


def exceeds(box: Box, covers: Sequence[Box], effort: Effort) -> bool:
    """Whether a request is in ``box`` and in none of ``covers``; True where that is not certain.

    Never False wrongly. Raises TooMuchEffortError.
    """
    pieces = [_Piece(tuple((each,) for each in box.parts), tuple((test, True) for test in box.tests))]
    pieces = [piece for piece in pieces if _has_requests(piece, effort)]
    for cover in covers:
        if not pieces:
            return False
        if len(pieces) > _MOST_PIECES:
            raise TooMuchEffortError
        pieces = [rest for piece in pieces for rest in _without(piece, cover, effort)]
    return bool(pieces)


def overlapping(box: Box, covers: Sequence[Box], effort: Effort) -> list[Box]:
    """Those of the covers that may share a request with a box: others make no difference to it."""
    return [cover for cover in covers if _share_parts([(each,) for each in box.parts], cover, effort)]


def _share_parts(parts: Sequence[tuple[Words, ...]], cover: Box, effort: Effort) -> bool:
    effort.spend(4)
    return all(
        part == EVERYTHING or common((*sets, part), effort) for sets, part in zip(parts, cover.parts, strict=True)
    )


def _has_requests(piece: _Piece, effort: Effort) -> bool:
    return all(common(sets, effort) for sets in piece.parts) and can_hold(piece.literals, effort)


def _without(piece: _Piece, cover: Box, effort: Effort) -> list[_Piece]:
    """What is left of a piece outside of a cover, as pieces that may overlap."""
    if not _share_parts(piece.parts, cover, effort):
        return [piece]
    if not can_hold((*piece.literals, *((test, True) for test in cover.tests)), effort):
        return [piece]
    left: list[_Piece] = []
    for index, part in enumerate(cover.parts):
        outside = (*piece.parts[index], ~part)
        if part != EVERYTHING and common(outside, effort):
            left.append(replace(piece, parts=(*piece.parts[:index], outside, *piece.parts[index + 1 :])))
    for test in cover.tests:
        literals = (*piece.literals, (test, False))
        if can_hold(literals, effort):
            left.append(replace(piece, literals=literals))
    return left


def choices_beyond(values: Sequence[Sequence[Any]], beyond: Callable[..., bool]) -> list[tuple[Values, ...]]:
    """Those of the values of each part for which ``beyond`` holds, as few choices as say so.

    ``beyond`` is asked about a tuple of values for each part. With too many combinations each part is asked about for
    itself, which may choose more.
    """
    if prod(map(len, values)) <= _MOST_CELLS:
        return _merged([cell for cell in product(*values) if beyond(*((each,) for each in cell))])
    whole = [tuple(each) for each in values]
    kept = [
        tuple(each for each in several if beyond(*(*whole[:index], (each,), *whole[index + 1 :])))
        for index, several in enumerate(values)
    ]
    return [tuple(kept)] if all(kept) else [tuple(whole)]


def _merged(cells: Sequence[Values]) -> list[tuple[Values, ...]]:
    """Cells that differ in one value become one with several: those of the last part first."""
    merged: list[tuple[Values, ...]] = [tuple((each,) for each in cell) for cell in cells]
    for index in reversed(range(len(cells[0]) if cells else 0)):
        groups: dict[tuple[Values, ...], list[Any]] = {}
        for cell in merged:
            groups.setdefault((*cell[:index], *cell[index + 1 :]), []).extend(cell[index])
        merged = [(*key[:index], tuple(values), *key[index:]) for key, values in groups.items()]
    return merged
