"""Pull secrets: read from the cluster that the webhook runs in, and what is wrong with those that can't be used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from multiarch.errors import MultiarchError
from multiarch.registry.credentials.pull_secrets import PullSecretError, PullSecrets, from_secret
from multiarch.threads import DaemonThreads
from multiarch.webhook.model import PullSecretNames

if TYPE_CHECKING:  # most webhooks read no secret, and start without a client of Kubernetes
    from multiarch.kubernetes.cluster import Cluster

READ_SECONDS = 5.0
"""Maximum seconds to wait for the API server, which is queried for all secrets of a pod one after the other."""


@dataclass(frozen=True, slots=True)
class SecretSet:
    """What several secrets hold. ``faults`` are clauses about those that can't be used, which are omitted."""

    credentials: PullSecrets
    faults: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return a string without what is secret."""
        return f"SecretSet(faults={self.faults!r})"


class SecretSource(Protocol):
    """Reads pull secrets."""

    async def read(self, names: PullSecretNames) -> SecretSet:
        """Return what the secrets hold now. Never raises for what is wrong with one."""
        ...


class ClusterSecrets:
    """Reads secrets from the API server, in a thread."""

    def __init__(self, opened: Callable[[], Cluster]) -> None:
        """``opened`` opens the API server, for each reading: its certificates and the token may change."""
        self._opened = opened

    async def read(self, names: PullSecretNames) -> SecretSet:
        """Return what the secrets hold now."""
        reading = asyncio.get_running_loop().run_in_executor(DaemonThreads(), _read, self._opened, names)
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await reading
        except TimeoutError:
            fault = f"the API server did not send the pull secrets within {READ_SECONDS:g} s"
            return SecretSet(PullSecrets(()), (fault,))


def usable_secrets(secrets: Sequence[dict[str, Any]], faults: Sequence[str]) -> SecretSet:
    """Return the credentials of those Secret objects that are valid; ``faults`` are about others."""
    valid, wrong = [], list(faults)
    for secret in secrets:
        try:
            pair = from_secret(secret)
            PullSecrets((pair,))
        except PullSecretError as error:
            wrong.append(_clause(error))
        else:
            valid.append(pair)
    return SecretSet(PullSecrets(valid), tuple(wrong))


def _read(opened: Callable[[], Cluster], names: PullSecretNames) -> SecretSet:
    """Read the secrets that exist, and note what is wrong with the others. Runs in a thread."""
    found: list[dict[str, Any]] = []
    faults: list[str] = []
    try:
        with opened() as server:
            for name in names.names:
                try:
                    secret = server.secret(names.namespace, name)
                except MultiarchError as error:
                    faults.append(f"Secret {names.namespace}/{name} can't be read: {_clause(error)}")
                    continue
                if secret is None:
                    faults.append(f"Secret {names.namespace}/{name} does not exist")
                else:
                    found.append(secret)
    except MultiarchError as error:
        faults.append(f"pull secrets can't be read: {_clause(error)}")
    return usable_secrets(found, faults)


def _clause(error: MultiarchError) -> str:
    return error.message.rstrip(".")
