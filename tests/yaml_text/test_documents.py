from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from multiarch.yaml_text.documents import split_documents

DOCUMENTS = st.lists(
    st.sampled_from(
        ["---\n", "--- # a\n", "...\n", "%YAML 1.2\n---\n", "a: 1\n", "# c\n", "\n", "---a: 1\n", "--- {}\n"]
    ),
    max_size=8,
).map("".join)


@given(DOCUMENTS)
def test_the_parts_of_a_stream_are_the_stream(text: str) -> None:
    assert "".join(part.text for part in split_documents(text)) == text
    lines = 1
    for part in split_documents(text):
        assert part.line == lines
        lines += part.text.count("\n")
