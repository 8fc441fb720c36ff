"""Where what is written in a YAML string ends, so that something can be written behind it."""

from __future__ import annotations

import re

from multiarch.yaml_text.nodes import MappingNode, ScalarNode, SequenceNode, YamlNode

_COLON = re.compile(r"\s*:")


def find_end(text: str, node: YamlNode) -> int:
    """Return the offset behind a node's last character; comments behind it do not count."""
    if isinstance(node, MappingNode) and not node.flow and node.pairs:
        return find_pair_end(text, *node.pairs[-1])
    if isinstance(node, SequenceNode) and not node.flow and node.items:
        return find_end(text, node.items[-1])
    if isinstance(node, ScalarNode) and node.style in {"|", ">"}:
        # Lines at the end belong to the value only where the header keeps them (+).
        header = text[node.start : node.end].partition("\n")[0].partition("#")[0]
        return node.end if "+" in header else find_end_before(text, node.end)
    if isinstance(node, ScalarNode) and node.empty:
        return find_end_before(text, node.start)
    return node.end


def find_pair_end(text: str, key: YamlNode, value: YamlNode) -> int:
    """Return the offset behind a mapping's pair, which ends with its colon where no value is written."""
    if isinstance(value, ScalarNode) and value.empty:
        found = _COLON.match(text, key.end)
        return found.end() if found else key.end
    return find_end(text, value)


def find_flow_end(text: str, container: MappingNode | SequenceNode) -> int:
    """Return the offset at which something can be added in brackets: behind the last child, or the opening bracket."""
    if isinstance(container, MappingNode):
        return find_pair_end(text, *container.pairs[-1]) if container.pairs else text.index("{", container.start) + 1
    return find_end(text, container.items[-1]) if container.items else text.index("[", container.start) + 1


def find_end_before(text: str, at: int, blanks: str = " \t\r\n") -> int:
    """Return the offset behind what is before ``at``, without ``blanks``."""
    while at and text[at - 1] in blanks:
        at -= 1
    return at


def find_next_line(text: str, at: int) -> int:
    """Return the offset of the line after the one at ``at``; ``at`` itself where a line has just ended."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def find_newline(text: str) -> str:
    """Return the line end of a string."""
    return "\r\n" if "\r\n" in text else "\n"
