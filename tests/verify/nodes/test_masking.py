"""Secrets in console output are masked as in boot logs."""

from __future__ import annotations

import time

import pytest

from multiarch.verify.nodes.boot import boot_fault
from multiarch.verify.nodes.masking import masked
from tests.verify.secrets import KEPT, SECRETS


@pytest.mark.parametrize("secret", SECRETS)
def test_console_output_holds_no_secrets(secret: str) -> None:
    assert "c2VjcmV0" not in masked(secret)
    assert "[masked]" in masked(secret)
    assert not any("c2VjcmV0" in line for line in boot_fault(secret, source="its console output").lines)


@pytest.mark.parametrize("line", KEPT)
def test_console_output_keeps_the_reason(line: str) -> None:
    assert masked(line) == line


@pytest.mark.parametrize("text", ["-" * 65_000, "a:" * 32_000, "-token" * 10_000, "key" * 20_000, " " * 65_000])
def test_hostile_output_is_masked_quickly(text: str) -> None:
    begun = time.process_time()
    masked(text)
    assert time.process_time() - begun < 2
