"""Registry clients: one for pods without pull secrets, and one for each set of secrets.

A client is one identity: what a pod's secrets may read is not answered to pods without them.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from cachetools import LRUCache

from multiarch.registry.cache.memory import MemoryCache
from multiarch.registry.client import RegistryClient
from multiarch.registry.credentials.ecr import EcrCredentials
from multiarch.registry.credentials.model import CredentialChain, Credentials
from multiarch.registry.egress import EgressPolicy
from multiarch.registry.settings import MIB, REMEMBERED, RegistrySettings
from multiarch.schema.webhook import RegistriesConfiguration, WebhookConfiguration
from multiarch.webhook.images.secrets import SecretSet, SecretSource
from multiarch.webhook.model import PullSecretNames

MAXIMUM_CLIENTS = 16
"""Sets of secrets with an open client; the least recently used is closed."""
SECRET_SECONDS = 60.0
"""How long secrets are used before they are read again."""
_CACHE_BYTES, _SECRET_CACHE_BYTES = 4 * MIB, MIB // 2
"""Manifests in memory, without and with pull secrets; verdicts are remembered apart."""


def settings_of(configuration: WebhookConfiguration) -> RegistrySettings:
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
        # How long a tag is believed is decided once: for look-ups.
        fresh_seconds=0.0,
        plain_http=frozenset(registries.plain_http),
        ca_files=tuple(map(Path, registries.ca_files)),
        mirrors=Path(registries.hosts_dir) if registries.hosts_dir else None,
        egress=EgressPolicy.of(registries.allowed, registries.allowed_networks),
        blob_limit=MIB,
        values_limit=25_000,
        requests_limit=50,
        manifest_limit=MIB,
        user_agent="multiarch-eks-webhook",
    )


def credentials_of(registries: RegistriesConfiguration) -> tuple[Credentials, ...]:
    """Return the credentials that every pod may use. Raises MultiarchError for an invalid ``config.json``."""
    found: list[Credentials] = []
    if registries.docker_config:
        from multiarch.webhook.images.docker_config_file import DockerConfigFile  # noqa: PLC0415 (most have none)

        found.append(DockerConfigFile(Path(registries.docker_config)))
    if registries.ecr:
        found.append(EcrCredentials())
    return tuple(found)


@dataclass(slots=True)
class _Open:
    """An open client, how many use it, and the secrets that it has; ``retired``: its last user closes it."""

    client: RegistryClient
    secrets: SecretSet | None = None
    read: float = 0.0
    users: int = 0
    retired: bool = False

    async def retire(self) -> None:
        """Close it now, or after its last use."""
        self.retired = True
        if not self.users:
            await self.client.__aexit__(None, None, None)


class Clients:
    """Use it with ``async with``, in one event loop."""

    def __init__(
        self, settings: RegistrySettings, credentials: Sequence[Credentials] = (), secrets: SecretSource | None = None
    ) -> None:
        """``secrets`` reads the pull secrets of pods."""
        self._settings = settings
        self._credentials = tuple(credentials)
        self._secrets = secrets
        self._plain = self._made(None)
        self._opened: OrderedDict[PullSecretNames, _Open] = OrderedDict()
        self._locks: LRUCache[PullSecretNames, asyncio.Lock] = LRUCache(REMEMBERED)

    async def __aenter__(self) -> Self:
        """Open the client of pods without pull secrets."""
        await self._plain.client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all."""
        for opened in (self._plain, *self._opened.values()):
            await opened.retire()
        self._opened.clear()

    @asynccontextmanager
    async def client(self, names: PullSecretNames) -> AsyncIterator[tuple[RegistryClient, tuple[str, ...]]]:
        """Lend the client of an identity, and what is wrong with its secrets."""
        opened = await self._with_secrets(names) if names.names else self._plain
        opened.users += 1
        try:
            yield opened.client, () if opened.secrets is None else opened.secrets.faults
        finally:
            opened.users -= 1
            if opened.retired:
                await opened.retire()

    async def _with_secrets(self, names: PullSecretNames) -> _Open:
        async with self._locks.setdefault(names, asyncio.Lock()):
            opened = self._opened.get(names)
            if opened is not None and time.monotonic() - opened.read < SECRET_SECONDS:
                self._opened.move_to_end(names)
                return opened
            if self._secrets is None:
                raise RuntimeError("there is no source of secrets")
            found = await self._secrets.read(names)
            read = time.monotonic()
            if opened is not None and opened.secrets is not None:
                # What can't be read now is used as it was read before.
                if not found.complete or found.contents == opened.secrets.contents:
                    opened.read = read
                    return opened
                await opened.retire()
            made = self._opened[names] = self._made(found)
            made.read = read
            await made.client.__aenter__()
            self._opened.move_to_end(names)
            while len(self._opened) > MAXIMUM_CLIENTS:
                await self._opened.popitem(last=False)[1].retire()
            return made

    def _made(self, secrets: SecretSet | None) -> _Open:
        own = () if secrets is None else (secrets.credentials,)
        cache = MemoryCache(_CACHE_BYTES if secrets is None else _SECRET_CACHE_BYTES)
        return _Open(RegistryClient(self._settings, CredentialChain(*own, *self._credentials), cache), secrets)
