"""The hidden marker, and texts that are cut so that they stay whole Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.comments.body import fitted, marked, marker, same
from multiarch.errors import MultiarchError


@pytest.mark.parametrize("name", ["", "a--b", "-->", "a b", "-a", "x" * 101, "a\nb", "é"])
def test_a_name_that_could_end_the_marker_is_refused(name: str) -> None:
    with pytest.raises(MultiarchError, match="can't name a comment"):
        marker(name)


@pytest.mark.parametrize("name", ["review", "nightly/images", "checkout-dev.2", "a"])
def test_other_names_are_fine(name: str) -> None:
    assert marker(name) == f"<!-- multiarch post: {name} -->"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Digest", "<!-- multiarch post: report -->"),
        ("<!-- multiarch post: other -->\n# Digest", "<!-- multiarch post: other -->"),
        ("\n<!-- multiarch review of clusters -->\r\n# Digest", "<!-- multiarch review of clusters -->"),
        ("<!-- something else -->\n# Digest", "<!-- multiarch post: report -->"),
        ("see <!-- multiarch post: other -->", "<!-- multiarch post: report -->"),
    ],
)
def test_a_text_begins_with_its_marker(text: str, line: str) -> None:
    found, body = marked(text, None)
    assert found == line
    assert body.startswith(line)
    assert marked(body, None) == (line, body)


def test_a_name_takes_the_place_of_a_texts_own_marker() -> None:
    line, body = marked("<!-- multiarch review: clusters -->\n\n# Digest\n", "drift")
    assert (line, body) == ("<!-- multiarch post: drift -->", "<!-- multiarch post: drift -->\n\n# Digest\n")


PARTS = st.lists(
    st.sampled_from(["```\n", "~~~~\n", "<details>\n", "</details>\n", "text\n", "- a `b`\n"]), max_size=400
)


@given(PARTS.map("".join), st.integers(500, 1500))
def test_a_text_that_fits_stays_and_another_is_cut_and_closed(text: str, limit: int) -> None:
    cut = fitted(text, limit)
    assert len(cut) <= limit
    if len(text) <= limit:
        assert cut == text
        return
    assert text.startswith(cut[: limit - 600])
    note = cut.rstrip("\n").rpartition("\n")[2]
    assert note.startswith("*Cut to fit: ")
    fence = ""
    for line in cut.splitlines():
        if fence:
            fence = "" if line.startswith(fence) else fence
        elif line.startswith(("```", "~~~")):
            fence = line.strip()
    assert fence == ""


def test_many_open_details_are_closed_within_the_limit() -> None:
    cut = fitted("<details>\n" * 500, 3000)
    assert len(cut) <= 3000
    assert cut.count("<details>") == cut.count("</details>")


def test_a_line_that_is_longer_than_the_limit_is_cut() -> None:
    assert len(fitted("x" * 5000, 1000)) <= 1000


def test_line_ends_and_white_space_around_make_no_difference() -> None:
    assert same("a\r\nb\n", " a\nb")
    assert not same("a\nb", "a b")
