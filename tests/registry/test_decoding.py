"""JSON as Go's decoders read it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.registry.decoding import decode_json


@pytest.mark.parametrize(
    "text", [b"NaN", b'{"a": Infinity}', b"", b"{", b"\xef\xbb\xbf{}", b"[" * 100_000, b"01", b'"\\ud800"', b"9" * 5000]
)
def test_what_is_not_json_or_nested_too_deeply_is_rejected(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (any message)
        decode_json(text)


def test_bytes_that_are_not_utf_8_count_as_replaced() -> None:
    assert decode_json(b'{"a": "\xff"}') == {"a": "\N{REPLACEMENT CHARACTER}"}


@given(st.binary() | st.text())
def test_any_bytes_and_any_string_are_json_or_a_value_error(content: bytes | str) -> None:
    with suppress(ValueError):
        decode_json(content)
