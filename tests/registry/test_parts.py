"""The pure parts: challenges, digests, errors."""

from __future__ import annotations

import asyncio
import io
from types import SimpleNamespace
from typing import Any

import pytest
from yarl import URL

from multiarch.errors import OutsideError
from multiarch.registry.authentication import Challenge, choose_challenge, parse_challenges
from multiarch.registry.checks import read_blob
from multiarch.registry.credentials.model import Credential
from multiarch.registry.endpoints import Endpoint
from multiarch.registry.errors import RegistryError, RegistryReason, format_line
from multiarch.registry.model import Descriptor, compute_digest
from multiarch.registry.operation import ReadOperation
from multiarch.registry.reference import parse_reference


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        (
            ['Bearer realm="https://auth.io/token",service="registry.io",scope="repository:a/b:pull,push"'],
            [
                (
                    "bearer",
                    {"realm": "https://auth.io/token", "service": "registry.io", "scope": "repository:a/b:pull,push"},
                )
            ],
        ),
        (['Basic realm="Amazon ECR"'], [("basic", {"realm": "Amazon ECR"})]),
        (["bearer realm=https://auth.io , service = x"], [("bearer", {"realm": "https://auth.io", "service": "x"})]),
        (['Bearer realm="a", Basic realm="b"'], [("bearer", {"realm": "a"}), ("basic", {"realm": "b"})]),
        (['Bearer realm="a"', "Basic"], [("bearer", {"realm": "a"}), ("basic", {})]),
        (['Bearer realm="say \\"a\\""'], [("bearer", {"realm": 'say "a"'})]),
        (["Negotiate", "", '="'], [("negotiate", {})]),
    ],
)
def test_challenges_are_read(headers: list[str], found: list[tuple[str, dict[str, str]]]) -> None:
    assert [(each.scheme, each.parameters) for each in parse_challenges(headers)] == found


def test_bearer_counts_before_basic_if_it_says_where() -> None:
    bearer, basic = Challenge("bearer", {"realm": "https://auth.io"}), Challenge("basic")
    assert choose_challenge([basic, bearer]) == bearer
    assert choose_challenge([Challenge("bearer"), basic]) == basic
    assert choose_challenge([Challenge("negotiate")]) is None


async def received(descriptor: Descriptor, body: bytes) -> bytes:
    left = io.BytesIO(body)

    async def read(_: int) -> bytes:
        return left.read(3)

    response: Any = SimpleNamespace(url=URL("https://quay.io/"), headers={}, content=SimpleNamespace(read=read))
    operation = ReadOperation.start(parse_reference("quay.io/app:1"), (Endpoint("quay.io"),), 1.0)
    return b"".join([chunk async for chunk in read_blob(operation, descriptor, response)])


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_a_blob_is_checked_in_chunks(algorithm: str) -> None:
    descriptor = Descriptor("any", compute_digest(b"content", f"{algorithm}:"), 7)
    assert asyncio.run(received(descriptor, b"content")) == b"content"
    with pytest.raises(RegistryError, match=r"truncated: received 3 of the blob's 7 bytes"):
        asyncio.run(received(descriptor, b"con"))
    with pytest.raises(RegistryError, match=r"too large: the response is longer than the blob's 7 bytes"):
        asyncio.run(received(descriptor, b"contents"))
    with pytest.raises(RegistryError, match=f"wrong digest: .*{compute_digest(b'CONTENT', f'{algorithm}:')}"):
        asyncio.run(received(descriptor, b"CONTENT"))


def test_an_error_is_one_line_with_a_hint() -> None:
    error = RegistryError(RegistryReason.NOT_FOUND, "one\ntwo\x1b[31m.", parse_reference("quay.io/app:1"))
    assert str(error) == "quay.io/app:1: not found: one two [31m. Check the repository and the tag."
    assert isinstance(error, OutsideError)
    assert error.exit_code == 3


def test_secrets_are_blotted_out_of_what_others_wrote() -> None:
    credential = Credential("me", "hunter2", "an-identity")
    said = format_line("hunter2 an-identity", secrets=credential.secrets)
    assert said == "[secret] [secret]"
    assert repr(credential) == "Credential(username='me', source='', expires=None)"
    assert len(format_line("x" * 10_000)) < 400
