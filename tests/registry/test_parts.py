"""The pure parts: challenges, waiting, digests, errors."""

from __future__ import annotations

import base64
import json
import pickle
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.errors import OutsideError
from multiarch.registry.challenge import Challenge, parse_challenges, strongest
from multiarch.registry.credentials.model import Credential
from multiarch.registry.digests import Verifier, digest_of, signed_part
from multiarch.registry.errors import RegistryError, RegistryReason, one_line
from multiarch.registry.model import OCI_INDEX, SCHEMA1_SIGNED, Manifest
from multiarch.registry.recent import Recent
from multiarch.registry.timing import backoff, retry_after


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


@given(st.lists(st.text(max_size=200), max_size=3))
def test_any_header_is_read_without_an_error(headers: list[str]) -> None:
    for challenge in parse_challenges(headers):
        assert challenge.scheme == challenge.scheme.lower()


def test_bearer_counts_before_basic_if_it_says_where() -> None:
    bearer, basic = Challenge("bearer", {"realm": "https://auth.io"}), Challenge("basic")
    assert strongest([basic, bearer]) == bearer
    assert strongest([Challenge("bearer"), basic]) == basic
    assert strongest([Challenge("negotiate")]) is None


def test_waiting_is_twice_as_long_each_time_and_half_of_it_by_chance() -> None:
    for attempt in range(5):
        waits = [backoff(attempt, 0.3) for _ in range(200)]
        assert 0.15 * 2**attempt <= min(waits) < max(waits) <= 0.3 * 2**attempt


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("120", 120.0),
        (" 5 ", 5.0),
        ("soon", None),
        ("-5", None),
        ("", None),
        (format_datetime(datetime.fromtimestamp(1_000_060, UTC), usegmt=True), 60.0),
        (format_datetime(datetime.fromtimestamp(999_000, UTC), usegmt=True), 0.0),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, 1_000_000.0) == seconds


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_content_is_verified_in_pieces(algorithm: str) -> None:
    check = Verifier(digest_of(b"content", f"{algorithm}:"))
    check.update(b"con")
    assert not check.holds
    check.update(b"tent")
    assert check.holds
    assert (check.size, check.found) == (7, digest_of(b"content", f"{algorithm}:"))


def test_a_signed_schema_1_manifests_digest_is_that_of_its_payload() -> None:
    payload = b'{\n   "schemaVersion": 1\n}'
    tail = base64.urlsafe_b64encode(payload[-2:]).decode().rstrip("=")
    protected = base64.urlsafe_b64encode(json.dumps({"formatLength": len(payload) - 2, "formatTail": tail}).encode())
    signed = payload[:-2] + b',"signatures":[{"protected":"' + protected.rstrip(b"=") + b'"}]}'
    assert signed_part(SCHEMA1_SIGNED, signed) == payload
    assert signed_part(OCI_INDEX, signed) == signed
    for odd in (b"{}", b'{"signatures":[]}', b'{"signatures":[{"protected":"!"}]}', b"[" * 100_000):
        assert signed_part(SCHEMA1_SIGNED, odd) == odd


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"nothing", b"\xff", b'{"a":' * 100_000, b'{"a": "\\ud800"}', b'{"a": ' + b"9" * 5000 + b"}"],
)
def test_a_manifest_that_is_no_json_object_is_malformed(content: bytes) -> None:
    manifest = Manifest(OCI_INDEX, "sha256:0", content, "quay.io/app:1")
    with pytest.raises(RegistryError) as caught:
        manifest.json()
    assert caught.value.reason is RegistryReason.MALFORMED
    assert (caught.value.registry, caught.value.reference) == ("quay.io", "quay.io/app:1")
    assert "\n" not in str(caught.value)


def test_an_error_is_one_line_with_a_way_out_and_survives_pickling() -> None:
    error = RegistryError(RegistryReason.NOT_FOUND, "one\ntwo\x1b[31m.", registry="quay.io", reference="quay.io/app:1")
    expected = "quay.io/app:1: not found: one two [31m. Check the repository, the tag and the spelling."
    assert str(error) == expected
    assert isinstance(error, OutsideError)
    assert error.exit_code == 3
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (made here)
    assert (str(again), again.reason, again.registry) == (expected, error.reason, "quay.io")


def test_secrets_are_blotted_out_of_what_others_wrote() -> None:
    credential = Credential("me", "hunter2", "an-identity", "a-bearer")
    said = one_line("hunter2 an-identity a-bearer", secrets=credential.secrets)
    assert said == "[secret] [secret] [secret]"
    assert repr(credential) == "Credential(username='me', source='', expires=None)"
    assert len(one_line("x" * 10_000)) < 400


def test_a_table_that_forgets_drops_what_was_used_longest_ago() -> None:
    table: Recent[str, int] = Recent(limit=2)
    table.put("a", 1)
    table.put("b", 2)
    assert table.get_or_make("a", lambda: 9) == 1
    assert table.get_or_make("c", lambda: 3) == 3
    assert (table.get("a"), table.get("b"), len(table)) == (1, None, 2)
