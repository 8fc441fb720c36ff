"""The pure parts: challenges, digests, errors."""

from __future__ import annotations

import pytest

from multiarch.errors import OutsideError
from multiarch.registry.authentication import Challenge, choose_challenge, parse_challenges
from multiarch.registry.checks import BlobCheck
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


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_a_blob_is_checked_in_chunks(algorithm: str) -> None:
    operation = ReadOperation.start(parse_reference("quay.io/app:1"), (Endpoint("quay.io"),), 1.0)
    descriptor = Descriptor("any", compute_digest(b"content", f"{algorithm}:"), 7)
    check = BlobCheck(operation, descriptor)
    check.add(b"con")
    with pytest.raises(RegistryError, match=r"truncated: received 3 of the blob's 7 bytes"):
        check.finish()
    check.add(b"tent")
    check.finish()
    with pytest.raises(RegistryError, match=r"too large: the response is longer than the blob's 7 bytes"):
        check.add(b"s")
    other = BlobCheck(operation, descriptor)
    other.add(b"CONTENT")
    with pytest.raises(RegistryError, match=f"wrong digest: .*{compute_digest(b'CONTENT', f'{algorithm}:')}"):
        other.finish()


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
