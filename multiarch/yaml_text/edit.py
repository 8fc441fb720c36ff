"""Setting single values in a YAML text and leaving every other byte alone: comments, order, quotes, blank lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from multiarch.errors import MultiarchError
from multiarch.yaml_text.ends import end_in_flow, line_after, newline_of, pair_end
from multiarch.yaml_text.events import YamlFault
from multiarch.yaml_text.tree import Alias, Mapping, Piece, Scalar, parse

_REST_OF_LINE = re.compile(r"[ \t]*([ \t]#[^\r\n]*)?(?=\r?\n|\Z)")
_BOM = "\ufeff"
_STEP = 2
_AFTER = "instanceTypes"
"""A group's image is written below its instance types, which it belongs to; anything else goes to the end."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A text to set at ``path`` (keys from the file's top), with a comment behind it or none."""

    path: tuple[str, ...]
    value: str
    comment: str = ""


def top_keys(text: str, section: str) -> list[str]:
    """The keys below the top-level key ``section``, in the order of the file."""
    piece = _child(_parsed(text.removeprefix(_BOM)), section)
    return [key.text for key, _ in piece.pairs if isinstance(key, Scalar)] if isinstance(piece, Mapping) else []


def set_value(text: str, setting: Setting) -> str:
    """Return ``text`` with the value set; mappings that are missing on the way are written too.

    A value that is there is replaced, with the comment behind it if a new one is given. Raises MultiarchError when
    something other than a mapping stands in the way, and for YAML that libyaml does not take.
    """
    mark = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(mark)
    piece: Piece = _parsed(body)
    for depth, key in enumerate(setting.path):
        if not isinstance(piece, Mapping):
            raise MultiarchError(f"{'.'.join(setting.path[:depth])} is no mapping, so nothing can be set in it.")
        child = _child(piece, key)
        if child is None:
            insert = _in_flow if piece.flow else _in_block
            return mark + insert(body, piece, setting, depth)
        piece = child
    if not isinstance(piece, Scalar):
        raise MultiarchError(f"{'.'.join(setting.path)} is no single value, so it can't be replaced.")
    return mark + _replaced(body, piece, setting)


def _parsed(text: str) -> Piece:
    try:
        return parse(text)
    except YamlFault as fault:
        # Stacks are read by another parser, of YAML 1.2, which takes a little more, such as ``{a: :b}``.
        where = f"line {fault.line}: " if fault.line else ""
        raise MultiarchError(f"{where}can't be changed here: {fault.fault}.", hint="Put texts in quotes.") from fault


def _child(piece: Piece, name: str) -> Piece | None:
    """What a key leads to, through an alias to where it is written."""
    pairs = piece.pairs if isinstance(piece, Mapping) else []
    found = next((value for key, value in pairs if isinstance(key, Scalar) and key.text == name), None)
    return found.target if isinstance(found, Alias) else found


def _replaced(text: str, piece: Scalar, setting: Setting) -> str:
    start, end = piece.start, piece.end
    comment = ""
    # Within braces something may follow on the line, and a comment would swallow it.
    if setting.comment and (rest := _REST_OF_LINE.match(text, end)):
        end, comment = rest.end(), f" # {setting.comment}"
    return f"{text[:start]}{_lead(text, piece)}{json.dumps(setting.value)}{comment}{text[end:]}"


def _lead(text: str, piece: Scalar) -> str:
    """What has to stand between what is in front of a value and what comes in its place."""
    if piece.anchor:
        return f"&{piece.anchor} "
    if not piece.empty or text[piece.start - 1] in " \t":
        return ""
    return " " if text[piece.start - 1] == ":" else ": "


def _in_flow(text: str, piece: Mapping, setting: Setting, depth: int) -> str:
    """Add to a mapping in braces; there is no room for a comment."""
    missing = setting.path[depth:]
    added = json.dumps(setting.value)
    for key in reversed(missing[1:]):
        added = f"{{{key}: {added}}}"
    at = end_in_flow(text, piece)
    return f"{text[:at]}{', ' if piece.pairs else ''}{missing[0]}: {added}{text[at:]}"


def _in_block(text: str, piece: Mapping, setting: Setting, depth: int) -> str:
    """Add lines to an indented mapping."""
    indent = piece.pairs[0][0].column
    comment = f" # {setting.comment}" if setting.comment else ""
    missing = setting.path[depth:]
    lines = [f"{' ' * (indent + _STEP * i)}{key}:" for i, key in enumerate(missing)]
    lines[-1] += f" {json.dumps(setting.value)}{comment}"
    at = line_after(text, pair_end(text, *(piece.child(_AFTER) or piece.pairs[-1])))
    newline = newline_of(text)
    unfinished = "" if text[at - 1] == "\n" else newline
    gap = newline if depth == 1 and _airy(text, piece) else ""
    return f"{text[:at]}{unfinished}{gap}{newline.join(lines)}{newline}{text[at:]}"


def _airy(text: str, piece: Mapping) -> bool:
    """Whether blank lines stand between this mapping's keys."""
    first, last = piece.pairs[0][0].start, piece.pairs[-1][0].start
    return re.search(r"\n[ \t]*\r?\n", text[first:last]) is not None
