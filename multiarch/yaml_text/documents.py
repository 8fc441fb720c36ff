"""A stream of YAML documents split into its documents, so that each is read, and edited, by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NOTHING = re.compile(r"(?:[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z))*")
_DIRECTIVES = re.compile(r"(?:(?:%[^\n]*|[ \t]*(?:#[^\n]*)?)(?:\r?\n|\Z))*")


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of one document, with the marker in front of it; ``line`` is its first line, from 1.

    ``number`` is the document's among those that reading the stream gives, from 1; 0 for a part without a document.
    """

    text: str
    line: int
    number: int


def split_documents(text: str) -> Iterator[DocumentText]:
    """Split a string; the parts together are the text, byte for byte.

    A line that begins with ``---`` or ``...`` is a marker wherever it is: no scalar may contain one
    (https://yaml.org/spec/1.2.2/#rule-c-forbidden).
    """
    line, number = 1, 0
    for part in _parts(text):
        begins = part.startswith("---") or "\n---" in part[: _preface(part)]
        filled = begins or _NOTHING.fullmatch(part) is None
        number += filled
        yield DocumentText(part, line, number if filled else 0)
        line += part.count("\n")


def _preface(part: str) -> int:
    """Return how long the directives in front of a part's marker are, marker included."""
    found = _DIRECTIVES.match(part)
    return found.end() + len("---") if found else 0


def _parts(text: str) -> Iterator[str]:
    start = 0
    for marker in _MARKER.finditer(text):
        if marker.group() == "...":
            line_end = text.find("\n", marker.end())
            at = len(text) if line_end < 0 else line_end + 1
        else:
            at = marker.start()
            before = text[start:at]
            # Directives belong to the document whose marker follows them.
            if "%" in before and _DIRECTIVES.fullmatch(before):
                continue
        if at > start:
            yield text[start:at]
            start = at
    if start < len(text):
        yield text[start:]
