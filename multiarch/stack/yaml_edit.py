"""Setting single values in a YAML text and leaving every other byte alone: comments, order, quotes, blank lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from multiarch.errors import MultiarchError

_REST_OF_LINE = re.compile(r"[ \t]*([ \t]#[^\r\n]*)?(?=\r?\n|\Z)")
_ALIAS = re.compile(r"\s*:\s*\*[^\s,\]}]+")
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
    node = _child(_compose(text), section)
    return [key.value for key, _ in node.value] if isinstance(node, MappingNode) else []


def set_value(text: str, setting: Setting) -> str:
    """Return ``text`` with the value set; mappings that are missing on the way are written too.

    A value that is there is replaced, with the comment behind it if a new one is given. Raises MultiarchError when
    something other than a mapping stands in the way.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    node: Node = _compose(body)
    for depth, key in enumerate(setting.path):
        if not isinstance(node, MappingNode):
            raise MultiarchError(f"{'.'.join(setting.path[:depth])} is no mapping, so nothing can be set in it.")
        child = _child(node, key)
        if child is None:
            insert = _in_flow if node.flow_style else _in_block
            return mark + insert(body, node, setting, depth)
        node = child
    if not isinstance(node, ScalarNode):
        raise MultiarchError(f"{'.'.join(setting.path)} is no single value, so it can't be replaced.")
    return mark + _replaced(body, node, setting)


def _compose(text: str) -> Node:
    root: Node = YAML(typ="safe", pure=True).compose(text)
    return root


def _child(node: Node, key: str) -> Node | None:
    pairs = node.value if isinstance(node, MappingNode) else []
    return next((value for name, value in pairs if isinstance(name, ScalarNode) and name.value == key), None)


def _replaced(text: str, node: ScalarNode, setting: Setting) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    comment = ""
    # Within braces something may follow on the line, and a comment would swallow it.
    if setting.comment and (rest := _REST_OF_LINE.match(text, end)):
        end, comment = rest.end(), f" # {setting.comment}"
    return f"{text[:start]}{json.dumps(setting.value)}{comment}{text[end:]}"


def _in_flow(text: str, node: MappingNode, setting: Setting, depth: int) -> str:
    """Add to a mapping in braces; there is no room for a comment."""
    missing = setting.path[depth:]
    added = json.dumps(setting.value)
    for key in reversed(missing[1:]):
        added = f"{{{key}: {added}}}"
    added = f"{missing[0]}: {added}"
    if not node.value:
        at = text.index("{", node.start_mark.index) + 1
        return f"{text[:at]}{added}{text[at:]}"
    at = _end(text, *node.value[-1])
    return f"{text[:at]}, {added}{text[at:]}"


def _in_block(text: str, node: MappingNode, setting: Setting, depth: int) -> str:
    """Add lines to an indented mapping."""
    indent = node.value[0][0].start_mark.column
    newline = "\r\n" if "\r\n" in text else "\n"
    comment = f" # {setting.comment}" if setting.comment else ""
    missing = setting.path[depth:]
    lines = [f"{' ' * (indent + _STEP * i)}{key}:" for i, key in enumerate(missing)]
    lines[-1] += f" {json.dumps(setting.value)}{comment}"
    pair = next((pair for pair in node.value if pair[0].value == _AFTER), node.value[-1])
    line_end = text.find("\n", _end(text, *pair))
    at = len(text) if line_end < 0 else line_end + 1
    before = text[:at] if line_end >= 0 else f"{text}{newline}"
    gap = newline if depth == 1 and _airy(text, node) else ""
    return f"{before}{gap}{newline.join(lines)}{newline}{text[at:]}"


def _airy(text: str, node: MappingNode) -> bool:
    """Whether blank lines stand between this mapping's keys."""
    first, last = node.value[0][0].start_mark.index, node.value[-1][0].start_mark.index
    return re.search(r"\n[ \t]*\r?\n", text[first:last]) is not None


def _end(text: str, key: Node, value: Node) -> int:
    """Where a pair's last character stands, comments behind it not counted."""
    if value.start_mark.index < key.start_mark.index:
        # An alias: its node stands where the anchor is. The name after the asterisk ends the pair.
        alias = _ALIAS.match(text, key.end_mark.index)
        return alias.end() if alias else key.end_mark.index
    if isinstance(value, MappingNode | SequenceNode) and not value.flow_style and value.value:
        last = value.value[-1]
        return _end(text, *last) if isinstance(value, MappingNode) else _end_of_items(text, value, last)
    end: int = value.end_mark.index
    # A block scalar's end is where the next thing begins.
    return len(text[:end].rstrip()) if isinstance(value, ScalarNode) and value.style in {"|", ">"} else end


def _end_of_items(text: str, items: SequenceNode, last: Node) -> int:
    """Where an indented list ends; that its last item is an alias shows in where the item's node stands."""
    if last.start_mark.index >= items.start_mark.index:
        return _end(text, last, last)
    lines = text[: items.end_mark.index].rstrip().split("\n")
    while lines[-1].lstrip().startswith("#") or not lines[-1].strip():
        lines.pop()
    return len("\n".join(lines))
