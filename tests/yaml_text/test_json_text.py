"""JSON is written like json.dumps writes it, and its numbers as they were."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.yaml_text.dump import dump
from multiarch.yaml_text.json_text import DuplicateKeyError, WrittenNumber, json_documents, json_like

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
NUMBERS = ("1E400", "-0", "0.10000000000000000555", "1.0", "1e5", "-0.0", "9" * 5000, "123456789012345678901234567890")


@given(st.dictionaries(st.text(), VALUES, min_size=1), st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_what_python_wrote_is_written_the_same(value: object, indent: int | str | None, plain: bool) -> None:  # noqa: FBT001
    text = json.dumps(value, indent=indent, ensure_ascii=plain) + "\n"
    (read,) = json_documents(text, keep_numbers=True)
    again = json_like(text, read)
    assert json.loads(again) == value
    # With ensure_ascii Python escapes DEL too.
    assert again.replace("\\u007f", "\x7f") == text.replace("\\u007f", "\x7f")


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "form", ['{"a": %s, "b": [%s]}\n', '{\r\n  "a": %s,\r\n  "b": [\r\n    %s\r\n  ]\r\n}', '{"a":%s,"b":[%s]}']
)
def test_a_number_is_written_as_it_was(number: str, form: str) -> None:
    text = form % (number, number)
    (read,) = json_documents(text, keep_numbers=True)
    assert json_like(text, read) == text


def test_half_a_character_is_written_as_json_names_it() -> None:
    text = '{"é": "\\ud800", "\\udfff": [1.50]}\n'
    (read,) = json_documents(text, keep_numbers=True)
    assert json_like(text, read) == text


def test_a_number_that_is_kept_is_still_a_number() -> None:
    (read,) = json_documents("[1.50, 3, -0]", keep_numbers=True)
    assert read == [1.5, 3, 0]
    assert isinstance(read, list)
    assert isinstance(read[0], WrittenNumber)
    assert type(read[1]) is int
    assert isinstance(read[2], int)
    assert dump(read) == "- 1.5\n- 3\n- 0\n"


def test_a_duplicate_among_thousands_of_keys_is_found_in_a_moment() -> None:
    pairs = ",".join(f'"k{number}":1' for number in (*range(50_000), 49_999))
    began = time.process_time()
    with pytest.raises(DuplicateKeyError, match="duplicate key k49999"):
        list(json_documents(f"{{{pairs}}}"))
    assert time.process_time() - began < 3


def test_without_being_asked_numbers_are_python_s() -> None:
    (read,) = json_documents("[1.50]")
    assert isinstance(read, list)
    assert type(read[0]) is float
