r"""Patterns for one label of a host, as Go's ``filepath.Match`` reads them: ``*``, ``?``, ``[a-z]``, ``[^a-z]``, ``\``.

Python's fnmatch differs in classes and escapes. Source: https://pkg.go.dev/path/filepath#Match
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Class:
    """One character in (or, if ``negated``, not in) any of the ranges."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def __contains__(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.ranges) is not self.negated


_NOTHING = _Class(())


def glob_matches(pattern: str, text: str) -> bool:
    """Whether the whole ``text`` matches. A malformed pattern matches nothing. Takes quadratic time at most."""
    try:
        wanted = list(_parts(pattern))
    except _MalformedError:
        return False
    at = part = 0
    star, tried = -1, 0  # the last star, and where the text after it was tried
    while at < len(text):
        each = wanted[part] if part < len(wanted) else _NOTHING
        if each is None:
            star, tried = part, at
            part += 1
        elif text[at] in each:
            at, part = at + 1, part + 1
        elif star >= 0:
            tried += 1
            at, part = tried, star + 1
        else:
            return False
    return all(each is None for each in wanted[part:])


class _MalformedError(Exception):
    """The pattern ends within a class or after a backslash."""


def _parts(pattern: str) -> Iterator[_Class | None]:
    """The pattern's parts, one per character of the text; None for a star."""
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "*":
            yield None
        elif character == "?":
            yield _Class((), negated=True)
        elif character == "[":
            found, at = _class(pattern, at + 1)
            yield found
        else:
            character, at = _escaped(pattern, at)
            yield _Class(((character, character),))
        at += 1


def _class(pattern: str, at: int) -> tuple[_Class, int]:
    """The class that begins at ``at``, and the index of its closing bracket."""
    negated = pattern[at : at + 1] == "^"
    at += negated
    ranges: list[tuple[str, str]] = []
    while pattern[at : at + 1] != "]" or not ranges:
        if pattern[at : at + 1] in {"", "-", "]"}:
            raise _MalformedError
        low, at = _escaped(pattern, at)
        high, at = low, at + 1
        if pattern[at : at + 1] == "-":
            if pattern[at + 1 : at + 2] in {"", "-", "]"}:
                raise _MalformedError
            high, at = _escaped(pattern, at + 1)
            at += 1
        ranges.append((low, high))
    return _Class(tuple(ranges), negated), at


def _escaped(pattern: str, at: int) -> tuple[str, int]:
    """The character at ``at``, or the one after a backslash, and its index."""
    at += pattern[at] == "\\"
    if at >= len(pattern):
        raise _MalformedError
    return pattern[at], at
