from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.observed.newest_tags import find_newest_tag, parse_version, sort_same_format
from multiarch.observed.verdicts import Newest
from multiarch.registry.reference import Reference, parse_reference
from tests.images.asking import asked, reference
from tests.images.shapes import Repository

ARM = Architecture.ARM64


def newest(name: Reference, look_ups: int = 10) -> Newest:
    return asked(lambda registry: find_newest_tag(registry, name, ARM, look_ups=look_ups))


def both(repository: Repository, tag: str) -> None:
    repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag=tag)


def test_the_newest_tag_with_the_architecture_is_found_by_its_verdict(repository: Repository) -> None:
    for tag in ("1.9.0", "1.12.0"):
        repository.image("linux/amd64", tag=tag)
    for tag in ("1.10.0", "1.11.0", "1.13.0-alpine"):
        both(repository, tag)
    root = f"{repository.server.host}/{repository.name}"
    assert newest(reference(repository, "1.9.0")) == Newest(f"{root}:1.11.0", "newer than 1.9.0", 2)


def test_an_older_tag_is_said_to_be_older(repository: Repository) -> None:
    both(repository, "1.0")
    repository.image("linux/amd64", tag="1.1")
    found = newest(reference(repository, "1.1"))
    assert (found.image or "").endswith(":1.0")
    assert found.why == "older than 1.1"


def test_no_more_tags_than_allowed_are_asked_for(repository: Repository) -> None:
    for number in range(6):
        repository.image("linux/amd64", tag=f"2.{number}")
    both(repository, "1.0")
    assert newest(reference(repository, "2.0"), 3) == Newest(
        None, "none of the 3 newest of 6 tags like 2.0 is known to support arm64", 3
    )
    assert newest(reference(repository, "2.0"), 6).looked_up == 6


def test_a_tag_that_cannot_be_read_is_not_a_find(repository: Repository) -> None:
    repository.image("linux/amd64", tag="1.0")
    repository.artifact("application/vnd.example", tag="1.1")
    found = newest(reference(repository, "1.0"))
    assert found == Newest(None, "the one other tag like 1.0 is not known to support arm64 (1 can't be read)", 1)


def test_what_has_no_order_is_not_guessed(repository: Repository) -> None:
    made = repository.image("linux/amd64", tag="latest")
    both(repository, "2.0")
    assert "its tag latest is not a version" in newest(reference(repository, "latest")).why
    assert "a digest and no tag" in newest(reference(repository, None, made.digest)).why
    repository.image("linux/amd64", tag="1.0-x")
    assert newest(reference(repository, "1.0-x")).why == "no other tag has the format of 1.0-x"


def test_a_tag_that_moved_on_from_its_digest_is_looked_at_too(repository: Repository) -> None:
    old = repository.image("linux/amd64", tag="1.0")
    both(repository, "1.0")
    found = newest(reference(repository, "1.0", old.digest))
    assert (found.image or "").endswith(":1.0")
    assert found.why == "the same tag, which points to another image now"


def test_tags_that_cannot_be_listed_are_said() -> None:
    found = newest(parse_reference("127.0.0.1:1/gone:1.0"))
    assert "its tags can't be listed: 127.0.0.1:1/gone:1.0: unreachable" in found.why


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
    version = parse_version(tag)
    assert version is not None
    assert version.shape == shape


@pytest.mark.parametrize(
    "tag",
    ["latest", "stable-alpine", "3f2a9c1", "0a1b2c3d4e5f", "deadbeef1", "main", "1." + "9" * 5000, "1." * 40_000 + "!"],
)
def test_words_and_commits_are_not_versions(tag: str) -> None:
    assert parse_version(tag) is None


@given(st.text(alphabet="abcdefv0123456789._-", max_size=40))
def test_any_tag_is_read_or_rejected_and_its_numbers_fill_its_shape(tag: str) -> None:
    version = parse_version(tag)
    if version is not None:
        assert version.shape.count("#") == len(version.numbers)
        assert sort_same_format(version, [tag]) == [tag]
