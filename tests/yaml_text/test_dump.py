"""What is dumped is read back: by kubectl's reader, and by a parser of YAML 1.2."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from multiarch.yaml_text.dump import dump_yaml
from multiarch.yaml_text.reader import read_document

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], include_characters="\n\t"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXTS | st.sampled_from(["y", "0755", "1e3", "<<", "="]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(VALUES)
@example(["a\n", " a\n", "a \nb", "\n", "# a\n", "a\tb\n"])
@example({"\ufeff": "\x85\n\u2028", "<<": {"a": 1}})
def test_every_reader_finds_the_value(value: object) -> None:
    text = dump_yaml(value)
    found = read_document(text)
    assert found is not None
    assert found.value == value
    assert YAML(typ="safe", pure=True).load(text) == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": [1, {"c": "x", "d": "y"}]}, 'b: 1\na:\n- 1\n- c: x\n  d: "y"\n'),
        ({"script": "a\nb\n"}, "script: |\n  a\n  b\n"),
        ({"long": "a b " * 60 + "c"}, f"long: {'a b ' * 60}c\n"),
    ],
)
def test_values_are_written_in_blocks_and_lines_are_not_folded(value: object, written: str) -> None:
    assert dump_yaml(value) == written


def test_a_value_that_is_there_twice_is_written_twice_and_keys_are_sorted_on_demand() -> None:
    shared = {"b": 1, "a": 2}
    assert dump_yaml([shared, shared], sort_keys=True) == "- a: 2\n  b: 1\n- a: 2\n  b: 1\n"


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]))
    )
)
@example({"\u202eabc\x1b": "\x9b\x7f\u2066\n\x07", "a": "\u2028b\r\nc: d"})
def test_a_person_sees_every_character(value: dict[str, str]) -> None:
    text = dump_yaml(value)
    assert text.replace("\n", "").isprintable()
    found = read_document(text)
    assert found is not None
    assert found.value == value
