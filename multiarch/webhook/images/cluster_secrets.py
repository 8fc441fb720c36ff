"""Pull secrets from the cluster that the webhook runs in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.kubernetes.access import ClusterAccess
from multiarch.kubernetes.cluster import Cluster, open_cluster
from multiarch.registry.credentials.pull_secrets import PullSecrets
from multiarch.threads import DaemonThreads
from multiarch.webhook.images.secrets import SecretSet, clause, usable
from multiarch.webhook.model import PullSecretNames

READ_SECONDS = 5.0
"""The most seconds to wait for the API server, which is asked for all secrets of a pod one after the other."""


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
        return usable(found, faults, complete=complete)


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
                    faults.append(f"Secret {names.namespace}/{name} can't be read: {clause(error)}")
                    complete = False
                    continue
                if secret is None:
                    faults.append(f"Secret {names.namespace}/{name} does not exist")
                else:
                    found.append(secret)
    except MultiarchError as error:
        faults.append(f"pull secrets can't be read: {clause(error)}")
        complete = False
    return found, faults, complete
