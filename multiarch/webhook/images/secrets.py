"""Pull secrets, read from the cluster: only those that the configuration names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from multiarch.errors import MultiarchError
from multiarch.kubernetes.access import ClusterAccess
from multiarch.kubernetes.cluster import Cluster, open_cluster
from multiarch.registry.credentials.pull_secrets import PullSecretError, PullSecrets, from_secret
from multiarch.threads import DaemonThreads
from multiarch.webhook.model import PullSecretNames

READ_SECONDS = 5.0
"""The most seconds to wait for the API server, which is asked for all secrets of a pod one after the other."""


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


def _own_cluster() -> Cluster:
    """The cluster that the webhook runs in."""
    return open_cluster(ClusterAccess())


class ClusterSecrets:
    """Reads secrets from the API server, in a thread."""

    def __init__(self, opened: Callable[[], Cluster] = _own_cluster) -> None:
        """``opened`` opens the cluster, for each reading: the API server's certificates and the token may change."""
        self._opened = opened

    async def read(self, names: PullSecretNames) -> SecretSet:
        """What the secrets hold now."""
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(DaemonThreads(), _read, self._opened, names)
        try:
            async with asyncio.timeout(READ_SECONDS):
                found, faults, complete = await reading
        except TimeoutError:
            fault = f"the API server did not send the pull secrets within {READ_SECONDS:g} s"
            return SecretSet(PullSecrets(()), (fault,), complete=False)
        return _usable(found, faults, complete=complete)


def _read(opened: Callable[[], Cluster], names: PullSecretNames) -> tuple[list[dict[str, Any]], list[str], bool]:
    """The secrets that exist, what is wrong with the others, and whether each was answered for. Runs in a thread."""
    found: list[dict[str, Any]] = []
    faults: list[str] = []
    complete = True
    try:
        with opened() as cluster:
            for name in names.names:
                try:
                    secret = cluster.secret(names.namespace, name)
                except MultiarchError as error:
                    faults.append(f"Secret {names.namespace}/{name} can't be read: {_clause(error)}")
                    complete = False
                    continue
                if secret is None:
                    faults.append(f"Secret {names.namespace}/{name} does not exist")
                else:
                    found.append(secret)
    except MultiarchError as error:
        faults.append(f"pull secrets can't be read: {_clause(error)}")
        complete = False
    return found, faults, complete


def _usable(secrets: Sequence[dict[str, Any]], faults: Sequence[str], *, complete: bool) -> SecretSet:
    """The credentials of all secrets that are valid."""
    usable, wrong = [], list(faults)
    for secret in secrets:
        try:
            pair = from_secret(secret)
            PullSecrets((pair,))
        except PullSecretError as error:
            wrong.append(_clause(error))
        else:
            usable.append(pair)
    contents = tuple((name, repr(configuration)) for name, configuration in usable)
    return SecretSet(PullSecrets(usable), tuple(wrong), complete, contents)


def _clause(error: MultiarchError) -> str:
    return str(error).rstrip(".")
