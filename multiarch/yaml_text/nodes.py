"""A YAML document as it is written: nodes with their positions, aliases and merges among them.

The usual composers put an anchor's node in place of its aliases, which hides where the alias is and that a change would
reach further than it looks.
"""

from __future__ import annotations

from dataclasses import field

from multiarch.frozen import dataclass
from multiarch.yaml_text.events import YamlFault


@dataclass(slots=True, eq=False)
class YamlNode:
    """A value in a string: ``start`` and ``end`` are offsets, ``line`` counts from 1, ``column`` from 0.

    A block collection's ``end`` says nothing: what follows it begins there. ``aliased`` is set when an alias leads
    here. ``key_line`` is the line of the key in front, if there is one. ``faults`` have paths from here on.
    """

    start: int
    end: int
    line: int
    column: int
    anchor: str | None = None
    aliased: bool = False
    key_line: int | None = None
    faults: tuple[YamlFault, ...] = ()


@dataclass(slots=True, eq=False)
class ScalarNode(YamlNode):
    """One value; ``text`` is it without quotes, ``style`` is ``"``, ``'``, ``|``, ``>`` or empty."""

    value: object = None
    text: str = ""
    style: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing is written: what stands for null, at a place that is not its own."""
        return self.start == self.end


@dataclass(slots=True, eq=False)
class AliasNode(YamlNode):
    """``*name``."""

    target: YamlNode = field(kw_only=True)


@dataclass(slots=True, eq=False)
class MappingNode(YamlNode):
    """``pairs`` as they are written, ``<<`` among them; ``values`` are those by key, with what is merged in."""

    flow: bool = False
    pairs: list[tuple[YamlNode, YamlNode]] = field(default_factory=list)
    values: dict[object, YamlNode] = field(default_factory=dict)

    def pair(self, name: str) -> tuple[YamlNode, YamlNode] | None:
        """Return the pair of a key that is written here, not merged into it."""
        return next((pair for pair in self.pairs if isinstance(pair[0], ScalarNode) and pair[0].value == name), None)


@dataclass(slots=True, eq=False)
class SequenceNode(YamlNode):
    """Items in their order; ``dash`` is the offset of the first one's, in a block."""

    flow: bool = False
    items: list[YamlNode] = field(default_factory=list)
    dash: int = 0


def get_target(node: YamlNode) -> YamlNode:
    """Return what an alias leads to; another node itself."""
    return node.target if isinstance(node, AliasNode) else node


def find_line(node: YamlNode, path: tuple[str | int, ...]) -> int:
    """Return the line, from 1, of what is at ``path`` below a node, or of the last thing on the way that is written."""
    for key in path:
        inner = get_target(node)
        if isinstance(inner, MappingNode) and (found := inner.pair(str(key))):
            node = found[1]
        elif isinstance(inner, SequenceNode) and isinstance(key, int):
            node = inner.items[key]
        else:
            return inner.line
    return node.line
