from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.registry.reference import Reference
from multiarch.verify.pods.digests import parse_image_id

HEX = "0123456789abcdef" * 4
DIGEST = f"sha256:{HEX}"


@pytest.mark.parametrize(
    ("text", "repository"),
    [
        (
            f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/api@{DIGEST}",
            "123456789012.dkr.ecr.eu-west-1.amazonaws.com/api",
        ),
        (f"docker.io/library/nginx@{DIGEST}", "docker.io/library/nginx"),
        (f"nginx@{DIGEST}", "docker.io/library/nginx"),
        (f"example.com:5000/a/b:1.2@{DIGEST}", "example.com:5000/a/b"),
    ],
)
def test_an_image_id_has_the_digest_and_the_repository(text: str, repository: str) -> None:
    found = parse_image_id(text)
    assert isinstance(found, Reference)
    assert (found.digest, found.name) == (DIGEST, repository)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("nginx:1.27", "imageID nginx:1.27 has no digest"),
        ("docker://", "imageID docker:// can't be read: it must not have a scheme"),
        (
            "nginx@sha256:7",
            "imageID nginx@sha256:7 can't be read: a sha256 digest has 64 hexadecimal digits, this one has 1",
        ),
        (DIGEST, "its node has no name for the image: it was imported or built there"),
    ],
)
def test_what_names_nothing_in_a_registry_is_said(text: str, fault: str) -> None:
    assert parse_image_id(text) == fault


@given(st.text(max_size=120) | st.from_regex(r"[a-z:/@.-]{1,30}(@sha256:[0-9a-f]{60,70})?", fullmatch=True))
def test_any_text_is_read_or_said_to_be_unreadable(text: str) -> None:
    found = parse_image_id(text)
    if isinstance(found, str):
        assert found.isprintable()
    else:
        assert found.digest is not None
        assert found.digest in text
