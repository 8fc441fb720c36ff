"""JSON is written like json.dumps writes it."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from multiarch.yaml_text.json_text import DuplicateKeyError, format_json_like, read_json_documents

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@pytest.mark.parametrize(
    "text", ['{"\\ud800": "\\udfff"}\n', '{\r\n  "a": [\r\n    1.5\r\n  ]\r\n}', '{"a":1,"b":[-0.0]}']
)
def test_escapes_line_ends_and_compact_documents_stay(text: str) -> None:
    (read,) = read_json_documents(text)
    assert format_json_like(text, read) == text


@pytest.mark.parametrize("text", ['{"a": 1E400}', '{"a": ' + "9" * 5000 + "}"])
def test_a_number_that_can_not_be_written_again_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"too large|limit"):
        list(read_json_documents(text))


def test_a_duplicate_key_is_rejected() -> None:
    with pytest.raises(DuplicateKeyError, match="duplicate key a"):
        list(read_json_documents('{"a": 1, "b": 2, "a": 3}'))
