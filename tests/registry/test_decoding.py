"""JSON and numbers as Go's decoders read them."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.registry.decoding import LARGEST, decode_json, json_field, whole_number


@pytest.mark.parametrize(
    ("text", "base", "number"),
    [
        ("0", 10, 0),
        ("007", 10, 7),
        ("0" * 5000 + "7", 10, 7),
        (str(LARGEST), 10, LARGEST),
        (str(LARGEST + 1), 10, None),
        ("9" * 5000, 10, None),
        ("777", 8, 0o777),
        ("8", 8, None),
        ("", 10, None),
        ("-1", 10, None),
        ("+1", 10, None),
        ("1_0", 10, None),
        (" 1", 10, None),
        ("1\n", 10, None),
        ("\N{ARABIC-INDIC DIGIT ONE}", 10, None),
        ("²", 10, None),
    ],
)
def test_whole_numbers(text: str, base: int, number: int | None) -> None:
    assert whole_number(text, base) == number


@pytest.mark.parametrize(
    "text",
    [
        b"NaN",
        b'{"a": Infinity}',
        b"[-Infinity]",
        b"",
        b"{",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b"[" * 100_000,
        b"01",
    ],
)
def test_what_go_does_not_decode_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (any message)
        decode_json(text)


def test_numbers_without_end_take_no_time() -> None:
    started = time.monotonic()
    found = decode_json(b"[" + b"9" * 4_000_000 + b", -" + b"9" * 30 + b", 1" + b"0" * 18 + b", 1e400]")
    assert found == [math.inf, -math.inf, 10**18, math.inf]
    assert time.monotonic() - started < 5.0


def test_bytes_that_are_not_utf_8_count_as_replaced() -> None:
    assert decode_json(b'{"a": "\xff"}') == {"a": "\N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"\uD800x\udfff"', "\ufffdx\ufffd"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud83d\ud83d\ude00\ude00"', "\ufffd\U0001f600\ufffd"),
        (r'"\\ud800"', r"\ud800"),
        (r'"\\\ud800"', "\\\ufffd"),
        (r'{"\ud800": "\""}', {"\ufffd": '"'}),
    ],
)
def test_half_of_a_surrogate_pair_counts_as_replaced(text: str, read: object) -> None:
    assert decode_json(text) == decode_json(text.encode()) == read


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(-(10**17), 10**17), st.lists))
def test_other_json_is_read_as_usual(value: object) -> None:
    assert decode_json(json.dumps(value)) == value
    assert decode_json(json.dumps(value).encode()) == value


def test_keys_are_found_in_any_case_and_the_last_one_counts() -> None:
    value = decode_json('{"mediatype": 1, "MediaType": 2, "mediaType2": 3, "ediaType": 4}')
    assert json_field(value, "mediaType") == 2
    assert json_field({"mediaType": 1, "MEDIATYPE": 3}, "mediaType") == 3
    assert json_field({}, "mediaType") is None
    assert json_field({"manife\N{LATIN SMALL LETTER LONG S}ts": 1}, "manifests") == 1
    assert json_field({"\N{KELVIN SIGN}ind": 1, "ma\N{LATIN SMALL LETTER SHARP S}": 2}, "kind") == 1
