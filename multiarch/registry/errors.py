"""What a registry's answer, or the lack of one, can mean."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from multiarch.errors import OutsideError

DETAIL_LENGTH = 300
"""The most characters shown of what somebody else wrote."""


class RegistryReason(StrEnum):
    """Why a registry did not give what was asked for."""

    NOT_FOUND = "not found"
    DENIED = "denied"
    RATE_LIMITED = "rate limited"
    UNREACHABLE = "unreachable"
    UNTRUSTED = "untrusted certificate"
    TIMEOUT = "timed out"
    TOO_LARGE = "too large"
    WRONG_DIGEST = "wrong digest"
    MALFORMED = "malformed answer"
    REFUSED_HTTP = "plain HTTP is not allowed"
    SERVER = "server error"
    TRUNCATED = "truncated"
    REDIRECTS = "too many redirects"
    CREDENTIALS = "credentials can't be had"
    MISCONFIGURED = "misconfigured"
    UNSUPPORTED = "unsupported"


_HINTS = {
    RegistryReason.NOT_FOUND: "Check the repository, the tag and the spelling.",
    RegistryReason.DENIED: "Log in (`docker login`), or use credentials that may pull it; it may also not exist.",
    RegistryReason.RATE_LIMITED: "Log in, wait, or use a mirror.",
    RegistryReason.UNREACHABLE: "Check the registry's name, the network and the proxy settings.",
    RegistryReason.UNTRUSTED: "Give the certificate of the authority that signed it.",
    RegistryReason.TIMEOUT: "Try again, or allow more time.",
    RegistryReason.REFUSED_HTTP: "Use HTTPS, or allow plain HTTP for this registry.",
    RegistryReason.SERVER: "Try again later.",
    RegistryReason.TRUNCATED: "Try again; a proxy on the way may cut answers.",
}


class RegistryError(OutsideError):
    """One thing that could not be had from a registry (exit code 3).

    ``reason`` says what kind of failure, ``registry`` the registry's name, ``reference`` what was asked for (canonical
    text, or a digest). The message is one line; it never holds a secret.
    """

    def __init__(
        self, reason: RegistryReason, detail: str, *, registry: str, reference: str, hint: str | None = None
    ) -> None:
        """``detail`` goes on after the reason, without a full stop; ``hint`` replaces the usual way out."""
        said = one_line(detail)
        text = f"{reference}: {reason}: {said}" if said else f"{reference}: {reason}"
        super().__init__(f"{text}.", hint=_HINTS.get(reason, "") if hint is None else hint)
        self.reason = reason
        self.registry = registry
        self.reference = reference
        self.detail = said

    def __reduce__(self) -> tuple[object, ...]:
        """Let the error cross a process boundary with its fields."""
        return _rebuilt, (self.reason, self.detail, self.registry, self.reference, self.hint)


def _rebuilt(reason: RegistryReason, detail: str, registry: str, reference: str, hint: str) -> RegistryError:
    return RegistryError(reason, detail, registry=registry, reference=reference, hint=hint)


def one_line(text: str, *, secrets: Iterable[str] = ()) -> str:
    """Make one printable line of a text that somebody else wrote, with ``secrets`` blotted out, cut if long."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[secret]")
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    line = line.rstrip(".")
    return line if len(line) <= DETAIL_LENGTH else f"{line[:DETAIL_LENGTH]}…"
