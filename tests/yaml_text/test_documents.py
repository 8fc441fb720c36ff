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


def test_documents_are_counted_as_loading_them_would() -> None:
    text = "# c\n---\na: 1\n---\n---\n# d\nb: 2\n...\n%YAML 1.2\n---\nc: 3\n...\n# end\n"
    assert [part.number for part in split_documents(text)] == [0, 1, 2, 3, 4, 0]
