from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.audit.tags import alike, version_of


@pytest.mark.parametrize(
    ("tag", "shape"),
    [
        ("1.27.3", "#.#.#"),
        ("v2.4", "v#.#"),
        ("1.27.3-alpine3.20", "#.#.#-alpine#.#"),
        ("release-14-r2", "release-#-r#"),
        ("20240101", "#"),
        ("1.2.0-rc.1", "#.#.#-rc.#"),
    ],
)
def test_versions_have_their_shape(tag: str, shape: str) -> None:
    version = version_of(tag)
    assert version is not None
    assert version.shape == shape


@pytest.mark.parametrize(
    "tag",
    ["latest", "stable-alpine", "3f2a9c1", "0a1b2c3d4e5f", "deadbeef1", "main", "1." + "9" * 5000, "1." * 40_000 + "!"],
)
def test_words_and_commits_are_not_versions(tag: str) -> None:
    assert version_of(tag) is None


def test_the_newest_comes_first_by_number_and_not_by_letter() -> None:
    version = version_of("1.9.0-alpine")
    assert version is not None
    tags = ["1.9.0-alpine", "1.10.0-alpine", "1.10.0", "1.11-alpine", "2.0.0-alpine", "latest", "1.2.0-debian"]
    assert alike(version, tags) == ["2.0.0-alpine", "1.10.0-alpine", "1.9.0-alpine"]


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1, unique=True), st.randoms())
def test_the_order_of_versions_is_that_of_their_numbers(
    numbers: list[tuple[int, int]], shuffled: random.Random
) -> None:
    version = version_of("v0.0-x")
    assert version is not None
    tags = [f"v{first}.{second}-x" for first, second in numbers]
    shuffled.shuffle(tags)
    assert alike(version, tags) == [f"v{first}.{second}-x" for first, second in sorted(numbers, reverse=True)]


@given(st.text(alphabet="abcdefv0123456789._-", max_size=40))
def test_any_tag_is_read_or_refused_and_its_numbers_fill_its_shape(tag: str) -> None:
    version = version_of(tag)
    if version is not None:
        assert version.shape.count("#") == len(version.numbers)
        assert alike(version, [tag]) == [tag]
