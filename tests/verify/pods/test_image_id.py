from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.verify.pods.digests import ImageId, parse_image_id

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
        (DIGEST, None),
        (HEX, None),
    ],
)
def test_every_runtimes_spelling_has_the_digest_and_the_repository(text: str, repository: str | None) -> None:
    found = parse_image_id(text)
    assert isinstance(found, ImageId)
    assert found.digest == DIGEST
    assert (found.repository and found.repository.name) == repository
    assert not found.imported


def test_the_name_that_ctr_gives_an_archive_is_no_registrys() -> None:
    found = parse_image_id(f"docker.io/library/import-2026-11-21@{DIGEST}")
    assert found == ImageId(DIGEST, imported=True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("nginx:1.27", "imageID nginx:1.27 has no digest"),
        ("docker://", "imageID docker:// can't be read: it must not have a scheme"),
        (
            "nginx@sha256:7",
            "imageID nginx@sha256:7 can't be read: a sha256 digest has 64 hexadecimal digits, this one has 1",
        ),
        ("sha256:abc", "imageID sha256:abc has no digest"),
    ],
)
def test_what_has_no_digest_is_said(text: str, fault: str) -> None:
    assert parse_image_id(text) == fault


@given(st.text(max_size=120) | st.from_regex(r"[a-z:/@.-]{1,30}(@sha256:[0-9a-f]{60,70})?", fullmatch=True))
def test_any_text_is_read_or_said_to_be_unreadable(text: str) -> None:
    found = parse_image_id(text)
    if isinstance(found, str):
        assert found.startswith("imageID ")
        assert found.isprintable()
    else:
        assert found.digest.partition(":")[2] in text
