"""One list of secrets: in console output as in boot logs, and in what a review quotes."""

from __future__ import annotations

import time

import pytest

from multiarch.observed.resources.secrets import mask_secrets
from multiarch.verify.nodes.boot import find_boot_fault
from tests.verify.secrets import KEPT, SECRETS


def masked(text: str) -> str:
    """Mask as the boot log's reader does."""
    return mask_secrets(text, "[masked]", console=True)


@pytest.mark.parametrize("secret", SECRETS)
def test_console_output_holds_no_secrets(secret: str) -> None:
    assert "c2VjcmV0" not in masked(secret)
    assert "[masked]" in masked(secret)
    assert not any("c2VjcmV0" in line for line in find_boot_fault(secret, source="its console output").lines)


@pytest.mark.parametrize("line", KEPT)
def test_console_output_keeps_the_reason(line: str) -> None:
    assert masked(line) == line


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "text",
    ["-" * 65_000, "a:" * 32_000, "-token" * 10_000, "key" * 20_000, " " * 65_000, "\n" * 65_000, "\r\n" * 32_000],
)
def test_hostile_output_is_masked_quickly(text: str) -> None:
    begun = time.process_time()
    masked(text)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "secret", ["pul-0123456789abcdef", "glcbt-0123456789", "curl -u user:pass-word https://host", "https://a:b@host"]
)
def test_console_output_and_reviews_mask_the_same(secret: str) -> None:
    assert "[masked]" in masked(secret)
    assert mask_secrets(secret) == masked(secret).replace("[masked]", "[secret]")


@pytest.mark.parametrize("line", ["secretsmanager:GetSecretValue", "secrets: get, list", "sha256:" + "0a" * 32])
def test_a_review_keeps_actions_and_digests(line: str) -> None:
    assert mask_secrets(line) == line
