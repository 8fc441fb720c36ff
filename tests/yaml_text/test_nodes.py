"""Where libyaml says that things stand is where they stand: ruamel.yaml, a parser of its own, says the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.events import MappingStartEvent, ScalarEvent, SequenceStartEvent

from multiarch.yaml_text.nodes import AliasNode, MappingNode, ScalarNode, SequenceNode, YamlNode, find_line
from multiarch.yaml_text.positions import find_end, find_pair_end
from multiarch.yaml_text.reader import read_nodes

TEXTS = st.text(st.sampled_from("ab é𝄞:#'\"-{}[],&*!|>%@`?\n"), max_size=12)
VALUES = st.recursive(
    TEXTS | st.integers(0, 99) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS.filter(bool), inner, max_size=4),
    max_leaves=12,
)


def dumped(value: object, *, flow: bool | None, style: str | None, line_end: str) -> str:
    document = {"top": value, "é": "# no comment"}
    text: str = yaml.safe_dump(document, default_flow_style=flow, default_style=style, allow_unicode=True, width=60)
    return text.replace("\n", line_end)


def read(text: str) -> YamlNode:
    found = read_nodes(text)
    assert found is not None
    return found


def nodes_below(node: YamlNode) -> Iterator[YamlNode]:
    yield node
    if isinstance(node, MappingNode):
        for pair in node.pairs:
            for each in pair:
                yield from nodes_below(each)
    elif isinstance(node, SequenceNode):
        for each in node.items:
            yield from nodes_below(each)


@settings(max_examples=200, deadline=None)
@given(
    VALUES,
    st.sampled_from([True, False, None]),
    st.sampled_from([None, None, "'", '"', "|", ">"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_value_begins_and_ends_where_ruamel_says(
    value: object,
    flow: bool | None,  # noqa: FBT001 (hypothesis passes it)
    style: str | None,
    line_end: str,
) -> None:
    text = dumped(value, flow=flow, style=style, line_end=line_end)
    theirs: list[Any] = [
        event
        for event in YAML(typ="safe", pure=True).parse(text)
        if isinstance(event, ScalarEvent | MappingStartEvent | SequenceStartEvent)
    ]
    ours = list(nodes_below(read(text)))
    assert len(ours) == len(theirs)
    for node, event in zip(ours, theirs, strict=True):
        assert node.start == event.start_mark.index
        assert node.line == event.start_mark.line + 1 == text.count("\n", 0, node.start) + 1
        assert node.column == event.start_mark.column == node.start - (text.rfind("\n", 0, node.start) + 1)
        if isinstance(node, ScalarNode):
            # A block's end is where the next thing begins, and blank lines before that may belong to either.
            block = node.style in {"|", ">"}
            ends = find_end(text, node), len(text[: event.end_mark.index].rstrip()) if block else event.end_mark.index
            assert node.empty or "+" in text[node.start : node.start + 3] or ends[0] == ends[1]
            assert node.text == event.value


@pytest.mark.parametrize(
    ("text", "ends_with"),
    [
        ("a: 1 # c\n# d\n", "a: 1"),
        ("a:\n  b:\n  - c\n  - d: e\n  # f\n", "d: e"),
        ("a:\n  - b\n  -\n\n", "-"),
        ("a:\n  b:   # c\n", "b:"),
        ("a: {b: [1, 2], } # c\n", "}"),
        ("x: &x 1\na: *x # c\n", "*x"),
        ("a: |\n  b\n\n  c\n\n\n", "  c"),
        ("a: |+\n  b\n\n", "b\n\n"),
        ("a: |- # +\n  b\n\n", "b"),
        ("a: 'b\n  c' # d\n", "c'"),
        ("? a\n", "? a"),
    ],
)
def test_the_end_of_a_pair_is_its_last_character_without_comments(text: str, ends_with: str) -> None:
    root = read(text)
    assert isinstance(root, MappingNode)
    assert text[: find_pair_end(text, *root.pairs[-1])].endswith(ends_with)
    assert find_pair_end(text, *root.pairs[-1]) == find_end(text, root)


def test_a_list_is_as_far_in_as_its_dash_whatever_stands_in_front() -> None:
    text = "a: &x\n    - 1\nb: !!seq\n- 1\nc:\n  - - 1\nd: &y !!seq\n  - 1\n"
    found = [node for node in nodes_below(read(text)) if isinstance(node, SequenceNode)]
    assert [node.dash - (text.rfind("\n", 0, node.dash) + 1) for node in found] == [4, 0, 2, 4, 2]
    assert all(text[node.dash] == "-" for node in found)


def test_an_alias_stands_where_it_is_written_and_its_target_knows() -> None:
    root = read("a: &x {k: 1}\nb: *x\nc: {}\n")
    assert isinstance(root, MappingNode)
    (_, first), (_, second), (_, third) = root.pairs
    assert isinstance(second, AliasNode)
    assert (second.target, second.line, first.aliased, third.aliased) == (first, 2, True, False)
    assert [find_line(root, path) for path in (("b", "k"), ("c", "none"), ("d",), ())] == [1, 3, 1, 1]
