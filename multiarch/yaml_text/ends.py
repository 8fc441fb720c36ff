"""Where what is written in a YAML text ends, so that something can be written behind it."""

from __future__ import annotations

import re

from multiarch.yaml_text.tree import Mapping, Piece, Scalar, Sequence

_COLON = re.compile(r"\s*:")


def end_of(text: str, piece: Piece) -> int:
    """Say where a piece's last character stands, plus one; comments behind it do not count."""
    if isinstance(piece, Mapping) and not piece.flow and piece.pairs:
        return pair_end(text, *piece.pairs[-1])
    if isinstance(piece, Sequence) and not piece.flow and piece.items:
        return end_of(text, piece.items[-1])
    if isinstance(piece, Scalar) and piece.style in {"|", ">"}:
        # Lines at the end belong to the value only where the header keeps them (+).
        header = text[piece.start : piece.end].partition("\n")[0].partition("#")[0]
        return piece.end if "+" in header else end_before(text, piece.end)
    if isinstance(piece, Scalar) and piece.empty:
        return end_before(text, piece.start)
    return piece.end


def pair_end(text: str, key: Piece, value: Piece) -> int:
    """Say where a mapping's pair ends, which is its colon when no value is written."""
    if isinstance(value, Scalar) and value.empty:
        return colon_end(text, key) or key.end
    return end_of(text, value)


def colon_end(text: str, key: Piece) -> int | None:
    """Say where a key's colon ends; ``None`` for a key without one, as ``a`` in ``{a, b: 1}``."""
    found = _COLON.match(text, key.end)
    return found.end() if found else None


def end_in_flow(text: str, container: Mapping | Sequence) -> int:
    """Say where something can be added in brackets: behind the last child, or the bracket that opens."""
    if isinstance(container, Mapping):
        return pair_end(text, *container.pairs[-1]) if container.pairs else text.index("{", container.start) + 1
    return end_of(text, container.items[-1]) if container.items else text.index("[", container.start) + 1


def end_before(text: str, at: int, blanks: str = " \t\r\n") -> int:
    """Say where what stands before ``at`` ends, ``blanks`` not counted."""
    while at and text[at - 1] in blanks:
        at -= 1
    return at


def line_after(text: str, at: int) -> int:
    """Say where the line after the one at ``at`` begins; ``at`` itself where a line has just ended."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def newline_of(text: str) -> str:
    """Return the line end that a text has."""
    return "\r\n" if "\r\n" in text else "\n"
