"""A credential, and whatever knows some."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from multiarch.registry.reference import Reference


@dataclass(frozen=True, slots=True)
class Credential:
    """A name and its secret. No secret is in its representation.

    ``identity_token`` is a refresh token that a token server exchanges (``docker login`` through a browser);
    ``registry_token`` is a bearer token that is sent as it is. ``source`` says where it was found, for messages.
    ``expires`` is the Unix time when it ends, if it is known to end.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)
    source: str = ""
    expires: float | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown."""
        return tuple(secret for secret in (self.password, self.identity_token, self.registry_token) if secret)


class Credentials(Protocol):
    """Something that knows credentials."""

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """The credentials to try for a repository, in this order; empty: be nobody.

        Raises:
            RegistryError: CREDENTIALS, when there should be some, and they can't be had.
        """
        ...


class Anonymous:
    """Knows none."""

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """Nobody, everywhere."""
        del reference
        return ()


class CredentialChain:
    """The first of several that knows any. Later ones are not even asked then."""

    def __init__(self, *parts: Credentials) -> None:
        """``parts`` in the order to ask."""
        self._parts = parts

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """What the first part says that says anything. Raises what a part raises before that."""
        for part in self._parts:
            found = await part.for_repository(reference)
            if found:
                return found
        return ()
