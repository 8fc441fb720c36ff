"""Where what is written in a YAML text ends, so that something can be written behind it."""

from __future__ import annotations

import re

from multiarch.yaml_text.nodes import MappingNode, ScalarNode, SequenceNode, YamlNode

_COLON = re.compile(r"\s*:")


def end_of(text: str, node: YamlNode) -> int:
    """The offset behind a node's last character; comments behind it do not count."""
    if isinstance(node, MappingNode) and not node.flow and node.pairs:
        return pair_end(text, *node.pairs[-1])
    if isinstance(node, SequenceNode) and not node.flow and node.items:
        return end_of(text, node.items[-1])
    if isinstance(node, ScalarNode) and node.style in {"|", ">"}:
        # Lines at the end belong to the value only where the header keeps them (+).
        header = text[node.start : node.end].partition("\n")[0].partition("#")[0]
        return node.end if "+" in header else end_before(text, node.end)
    if isinstance(node, ScalarNode) and node.empty:
        return end_before(text, node.start)
    return node.end


def pair_end(text: str, key: YamlNode, value: YamlNode) -> int:
    """The offset behind a mapping's pair, which ends with its colon where no value is written."""
    if isinstance(value, ScalarNode) and value.empty:
        return colon_end(text, key) or key.end
    return end_of(text, value)


def colon_end(text: str, key: YamlNode) -> int | None:
    """The offset behind a key's colon; ``None`` for a key without one, as ``a`` in ``{a, b: 1}``."""
    found = _COLON.match(text, key.end)
    return found.end() if found else None


def end_in_flow(text: str, container: MappingNode | SequenceNode) -> int:
    """The offset at which something can be added in brackets: behind the last child, or the opening bracket."""
    if isinstance(container, MappingNode):
        return pair_end(text, *container.pairs[-1]) if container.pairs else text.index("{", container.start) + 1
    return end_of(text, container.items[-1]) if container.items else text.index("[", container.start) + 1


def end_before(text: str, at: int, blanks: str = " \t\r\n") -> int:
    """The offset behind what is before ``at``, without ``blanks``."""
    while at and text[at - 1] in blanks:
        at -= 1
    return at


def line_after(text: str, at: int) -> int:
    """The offset of the line after the one at ``at``; ``at`` itself where a line has just ended."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def newline_of(text: str) -> str:
    """The line end of a text."""
    return "\r\n" if "\r\n" in text else "\n"
