"""Errors of the registry client."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from multiarch.errors import OutsideError
from multiarch.registry.reference import Reference

__all__ = ["RegistryError", "RegistryReason"]

DETAIL_LENGTH = 300
"""The most characters shown of text from outside."""


class RegistryReason(StrEnum):
    """Why a request to a registry failed."""

    NOT_FOUND = "not found"
    DENIED = "denied"
    RATE_LIMITED = "rate limited"
    UNREACHABLE = "unreachable"
    UNTRUSTED = "untrusted certificate"
    TIMEOUT = "timed out"
    TOO_LARGE = "too large"
    WRONG_DIGEST = "wrong digest"
    MALFORMED = "malformed response"
    REJECTED_HTTP = "plain HTTP is not allowed"
    SERVER = "server error"
    TRUNCATED = "truncated"
    REDIRECTS = "too many redirects"
    CREDENTIALS = "no credentials"
    MISCONFIGURED = "misconfigured"
    UNSUPPORTED = "unsupported"
    NOT_ALLOWED = "not allowed"
    """By the settings' ``egress``. The detail says why, and the hint what to change."""


_HINTS = {
    RegistryReason.NOT_FOUND: "Check the repository and the tag.",
    RegistryReason.DENIED: "Log in (`docker login`) with credentials that may pull it, or check that it exists.",
    RegistryReason.RATE_LIMITED: "Log in, wait, or use a mirror.",
    RegistryReason.UNREACHABLE: "Check the registry's name, the network and the proxy settings.",
    RegistryReason.UNTRUSTED: "Check its names and dates, or pass the certificate of the authority that signed it.",
    RegistryReason.TIMEOUT: "Try again, or allow more time.",
    RegistryReason.REJECTED_HTTP: "Use HTTPS, or allow plain HTTP for this registry.",
    RegistryReason.SERVER: "Try again later.",
    RegistryReason.TRUNCATED: "Try again; a proxy may cut responses.",
}


class RegistryError(OutsideError):
    """A failed request to a registry (exit code 3).

    ``reason`` is the kind of failure, ``reference`` what was requested; ``retry_after`` are the seconds that the
    registry's response says to wait. The message is one line and never contains a secret.
    """

    def __init__(
        self,
        reason: RegistryReason,
        detail: str,
        reference: Reference,
        hint: str | None = None,
        *,
        retry_after: float | None = None,
    ) -> None:
        """``detail`` follows the reason, without a full stop; ``hint`` replaces the default hint."""
        line = format_line(detail)
        text = f"{reference}: {reason}: {line}" if line else f"{reference}: {reason}"
        super().__init__(f"{text}.", hint=_HINTS.get(reason, "") if hint is None else hint)
        self.reason = reason
        self.reference = reference
        self.detail = line
        self.retry_after = retry_after


def format_line(text: str, *, secrets: Iterable[str] = ()) -> str:
    """Make text from outside one printable line, with ``secrets`` replaced, cut if long."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[secret]")
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    line = line.rstrip(".")
    return line if len(line) <= DETAIL_LENGTH else f"{line[:DETAIL_LENGTH]}…"
