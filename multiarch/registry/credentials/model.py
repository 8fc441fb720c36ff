"""Credentials and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from multiarch.registry.reference import Reference

__all__ = ["Credential", "Credentials"]


@dataclass(frozen=True, slots=True)
class Credential:
    """A user name and password, or a token. Its representation contains no secret.

    ``identity_token`` is a refresh token that a token server exchanges (``docker login`` in a browser). ``source`` says
    where it was found, for messages. ``expires`` is a Unix time, or None if no end is known.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    source: str = field(default="", compare=False)
    expires: float | None = field(default=None, compare=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The strings that must never be shown."""
        return tuple(secret for secret in (self.password, self.identity_token) if secret)


class Credentials(Protocol):
    """A source of credentials."""

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """Return the credentials to try for a repository, in this order; empty for anonymous access.

        Raises:
            RegistryError: CREDENTIALS, if there should be some and they can't be obtained.
        """
        ...
