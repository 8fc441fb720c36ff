"""What pull secrets hold, and what is wrong with those that can't be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from multiarch.errors import MultiarchError
from multiarch.registry.credentials.pull_secrets import PullSecretError, PullSecrets, from_secret
from multiarch.webhook.model import PullSecretNames


@dataclass(frozen=True, slots=True)
class SecretSet:
    """What several secrets hold. ``faults`` are clauses about those that can't be used, which are left out.

    ``complete``: the API server answered for each of them.
    """

    credentials: PullSecrets
    faults: tuple[str, ...] = ()
    complete: bool = True
    contents: tuple[object, ...] = ()
    """To compare with another reading; not shown."""

    def __repr__(self) -> str:
        """Without what is secret."""
        return f"SecretSet(faults={self.faults!r})"


class SecretSource(Protocol):
    """Reads pull secrets."""

    async def read(self, names: PullSecretNames) -> SecretSet:
        """What the secrets hold now. Never raises for what is wrong with one."""
        ...


def usable(secrets: Sequence[dict[str, Any]], faults: Sequence[str], *, complete: bool) -> SecretSet:
    """The credentials of those Secret objects that are valid; ``faults`` are about others."""
    valid, wrong = [], list(faults)
    for secret in secrets:
        try:
            pair = from_secret(secret)
            PullSecrets((pair,))
        except PullSecretError as error:
            wrong.append(clause(error))
        else:
            valid.append(pair)
    contents = tuple((name, repr(configuration)) for name, configuration in valid)
    return SecretSet(PullSecrets(valid), tuple(wrong), complete, contents)


def clause(error: MultiarchError) -> str:
    """What is wrong, without the full stop."""
    return error.message.rstrip(".")
