"""YAML as kubectl takes it; what it takes for which value is ``sigs.k8s.io/yaml``'s, of Go."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.yaml_text.events import YamlError
from multiarch.yaml_text.reader import read_document, read_documents

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcy<", max_size=3), inner, max_size=4),
)


def only(text: str) -> object:
    (found,) = read_documents(text)
    return found.value


@given(VALUES)
def test_json_reads_as_json_does(value: object) -> None:
    assert only(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", True), ("Yes", True), ("y", True), ("OFF", False), ("n", False), ("yEs", "yEs"),
        ("~", None), ("", None), ("NULL", None),
        ("0755", 493), ("0o755", 493), ("0x1F", 31), ("-0x1f", -31), ("0b11", 3), ("1_000", 1000), ("+5", 5), ("0", 0),
        ("08", 8.0), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("-.inf", -math.inf), ("1.2.3", "1.2.3"),
        ("22:22", "22:22"), ("2026-11-21", "2026-11-21"), ("500m", "500m"), ("1_0.5", 10.5), ("-", [None]), ("=", "="),
        ("'on'", "on"), ('"0755"', "0755"), ("!!str 12", "12"), ("!!int '12'", 12), ("!!float 1", 1.0), ("! 12", "12"),
        ("|\n  a\n  b\n", "a\nb\n"), (">-\n  a\n  b\n", "a b"),
    ],
)  # fmt: skip
def test_what_is_written_is_the_value_that_kubectl_takes(written: str, value: object) -> None:
    found = only(f"a: {written}\n") if value != [None] else {"a": only(written)}
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


def test_anchors_and_merge_keys_are_followed() -> None:
    text = "x: &x {a: 1, b: 2}\ny: &y {c: 3}\nz: {<<: [*x, *y], b: 4}\nw:\n  <<: *x\n  '<<': plain\nv: *x\n"
    found = only(text)
    assert isinstance(found, dict)
    assert found["z"] == {"a": 1, "b": 4, "c": 3}
    assert found["w"] == {"a": 1, "b": 2, "<<": "plain"}
    assert found["v"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "fault", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", "duplicate key a", 3),
        (
            "a: 1\n\tb: 2\n",
            "not valid YAML: found a tab character that violates indentation while scanning a plain scalar",
            2,
        ),
        ("a: [", "not valid YAML: did not find expected node content while parsing a flow node", 1),
        ("a: *b\n", "not valid YAML: *b has no anchor before it", 1),
        ("a: &a [*a]\n", "*a is inside of the value that it refers to", 1),
        ("a: !Ref b\n", "unknown tag !Ref", 1),
        ("a: !!set {b}\n", "unknown tag !!set", 1),
        ("? {a: 1}\n: b\n", "a list or a mapping can't be a key", 1),
        ("a: 1\n<<: 5\n", "<< needs a mapping or a list of mappings", 2),
        ("---\na: 1\n---\nb: '\n", "not valid YAML: found unexpected end of stream while scanning a quoted scalar", 4),
        ("a: \x01\n", "not valid YAML: control characters are not allowed", 1),
        (f"a:\n  {'[' * 300}", "nested deeper than 200 levels", 2),
        (f"{'[' * 100_000}", "nested deeper than 200 levels", 1),
    ],
)
def test_what_is_not_yaml_is_rejected_with_its_line(text: str, fault: str, line: int) -> None:
    with pytest.raises(YamlError) as raised:
        list(read_documents(text))
    assert (raised.value.fault.message, raised.value.fault.line) == (fault, line)


def test_aliases_of_aliases_are_rejected_before_they_fill_memory() -> None:
    names = [f"a{number}" for number in range(12)]
    lines = ["a0: &a0 [1]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{last}'] * 10)}]" for last, name in pairwise(names)]
    with pytest.raises(YamlError, match="aliases expand to more than"):
        list(read_documents("\n".join(lines)))


def test_documents_and_the_items_of_a_list_know_their_lines() -> None:
    text = "# head\n---\na: 1\n---\n---\nkind: List\nitems:\n- kind: A\n\n- {kind: B}\n...\n"
    found = list(read_documents(text))
    assert [(each.number, each.line, each.items) for each in found] == [(1, 3, ()), (2, 5, ()), (3, 6, (8, 10))]
    assert found[1].value is None


@pytest.mark.parametrize("written", ["0x_", "0b_", "9" * 5000, "1e999", "-0b2", "0o8"])
def test_what_looks_like_a_number_but_is_not_one_in_go_is_text(written: str) -> None:
    assert only(f"a: {written}\n") == {"a": written}


def test_a_text_of_one_document_is_rejected_a_second_one() -> None:
    assert read_document("# none\n") is None
    found = read_document("\n---\na: 1\n")
    assert found is not None
    assert (found.value, found.line) == ({"a": 1}, 3)
    with pytest.raises(YamlError, match="more than one YAML document") as raised:
        read_document("a: 1\n---\n\nb: 2\n")
    assert raised.value.fault.line == 4
