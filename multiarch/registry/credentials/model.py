"""Credentials and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from multiarch.registry.reference import Reference

__all__ = ["Anonymous", "Credential", "CredentialChain", "Credentials"]


@dataclass(frozen=True, slots=True)
class Credential:
    """A user name and password, or a token. Its representation contains no secret.

    ``identity_token`` is a refresh token that a token server exchanges (``docker login`` in a browser);
    ``registry_token`` is a bearer token that is sent as it is. ``source`` says where it was found, for messages.
    ``expires`` is a Unix time, or None if no end is known.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)
    source: str = ""
    expires: float | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must never be shown."""
        return tuple(secret for secret in (self.password, self.identity_token, self.registry_token) if secret)


class Credentials(Protocol):
    """A source of credentials."""

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """The credentials to try for a repository, in this order; empty for anonymous access.

        Raises:
            RegistryError: CREDENTIALS, if there should be some and they can't be obtained.
        """
        ...


class Anonymous:
    """No credentials."""

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """Nothing, for every repository."""
        del reference
        return ()


class CredentialChain:
    """The first of several sources that has any; later ones are not asked."""

    def __init__(self, *parts: Credentials) -> None:
        """``parts`` in the order to try."""
        self._parts = parts

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """The first part's credentials that are not empty. Raises the errors of the parts tried."""
        for part in self._parts:
            found = await part.for_repository(reference)
            if found:
                return found
        return ()
