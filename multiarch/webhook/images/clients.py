"""Registry clients: one for pods without pull secrets, and one for each look-up with them.

A client is one identity: what a pod's secrets may read is not answered to pods without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from cachetools import TTLCache

from multiarch.errors import MultiarchError
from multiarch.registry.client import RegistryClient
from multiarch.registry.credentials.docker_config import load_docker_config
from multiarch.registry.credentials.ecr import EcrCredentials
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.credentials.pull_secrets import PodCredentials
from multiarch.registry.egress import EgressPolicy
from multiarch.registry.settings import MIB, REMEMBERED, RegistrySettings
from multiarch.schema.webhook import RegistriesConfiguration, WebhookConfiguration
from multiarch.threads import DaemonThreads
from multiarch.webhook.model import PullSecretNames

SECRET_SECONDS = 60.0
"""How long secrets are used before they are read again."""
READ_SECONDS = 5.0
"""Maximum seconds to wait for the API server, which is queried for all secrets of a pod one after the other."""

SecretReader = Callable[[PullSecretNames], PodCredentials]
"""Reads pull secrets as they are now, in a thread. Never raises for what is wrong with one."""


def build_settings(configuration: WebhookConfiguration) -> RegistrySettings:
    """Return the client's settings. Its deadlines bound a look-up that outlives its pod: they are longer than a pod's.

    Raises MultiarchError for allowed registries or networks that are not valid.
    """
    registries = configuration.registries
    return RegistrySettings(
        concurrency=64,
        connect_seconds=1.0,
        read_seconds=5.0,
        total_seconds=10.0,
        retries=1,
        backoff_seconds=0.1,
        down_seconds=configuration.cache.failure_seconds,
        plain_http=frozenset(registries.plain_http),
        ca_files=tuple(map(Path, registries.ca_files)),
        mirrors=Path(registries.hosts_dir) if registries.hosts_dir else None,
        egress=EgressPolicy.of(registries.allowed, registries.allowed_networks),
        blob_limit=MIB,
        # Verdicts are remembered apart.
        memory_bytes=2 * MIB,
        values_limit=25_000,
        requests_limit=50,
        manifest_limit=MIB,
        user_agent="multiarch-eks-webhook",
    )


def load_credentials(registries: RegistriesConfiguration) -> tuple[Credentials, ...]:
    """Return the credentials that every pod may use. Raises MultiarchError for an invalid ``config.json``."""
    found: list[Credentials] = []
    if registries.docker_config:
        found.append(load_docker_config(Path(registries.docker_config)))
    if registries.ecr:
        found.append(EcrCredentials())
    return tuple(found)


def read_cluster_secrets(names: PullSecretNames) -> PodCredentials:
    """Read pull secrets from the cluster that the webhook runs in: its certificates and the token may change."""
    from multiarch.kubernetes.cluster import KubernetesCluster  # noqa: PLC0415 (likewise)
    from multiarch.kubernetes.source import ClusterAccess  # noqa: PLC0415 (most webhooks read no secret)
    from multiarch.observed.pull_secrets import read_secrets  # noqa: PLC0415 (likewise)

    try:
        with KubernetesCluster(ClusterAccess()) as cluster:
            return read_secrets(cluster, [(names.namespace, name) for name in names.names], note_missing=True)
    except MultiarchError as error:
        return PodCredentials(notes=(f"pull secrets can't be read: {error}",))


class RegistryClients:
    """Use it with ``async with``, in one event loop."""

    def __init__(
        self, settings: RegistrySettings, credentials: Sequence[Credentials] = (), secrets: SecretReader | None = None
    ) -> None:
        """``secrets`` reads the pull secrets of pods."""
        self._settings = settings
        self._credentials = tuple(credentials)
        self._secrets = secrets
        self._plain = self._make_client()
        self._read: TTLCache[PullSecretNames, asyncio.Task[PodCredentials]] = TTLCache(REMEMBERED, SECRET_SECONDS)

    async def __aenter__(self) -> Self:
        """Open the client of pods without pull secrets."""
        await self._plain.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, and end what reads secrets."""
        for reading in self._read.values():
            reading.cancel()
        await self._plain.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def client(self, names: PullSecretNames) -> AsyncIterator[RegistryClient]:
        """Give lend the client of an identity."""
        if not names.names:
            yield self._plain
            return
        found = (await self.read_secrets(names)).credentials
        async with self._make_client(*([] if found is None else [found])) as client:
            yield client

    async def read_secrets(self, names: PullSecretNames) -> PodCredentials:
        """Return what the secrets hold, and what is wrong with them. They are read once a minute."""
        reading = self._read.get(names)
        if reading is None:
            reading = self._read[names] = asyncio.get_running_loop().create_task(self._read_now(names))
        return await asyncio.shield(reading)

    async def _read_now(self, names: PullSecretNames) -> PodCredentials:
        if self._secrets is None:
            raise RuntimeError("nothing reads secrets")
        reading = asyncio.get_running_loop().run_in_executor(DaemonThreads(), self._secrets, names)
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await reading
        except TimeoutError:
            return PodCredentials(notes=(f"the API server did not send the pull secrets within {READ_SECONDS:g} s",))

    def _make_client(self, *own: Credentials) -> RegistryClient:
        return RegistryClient(self._settings, (*own, *self._credentials))
