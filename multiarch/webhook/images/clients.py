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
from multiarch.registry.cache.model import Cache
from multiarch.registry.client import RegistryClient
from multiarch.registry.credentials.ecr import EcrCredentials
from multiarch.registry.credentials.model import CredentialChain, Credentials
from multiarch.registry.egress import EgressPolicy
from multiarch.registry.settings import MIB, REMEMBERED, RegistrySettings
from multiarch.schema.webhook import RegistriesConfiguration, WebhookConfiguration
from multiarch.webhook.images.disk import DiskCache
from multiarch.webhook.images.secrets import SecretSet, SecretSource
from multiarch.webhook.model import NO_SECRETS, PullSecretNames

MOST_CLIENTS = 16
"""Sets of secrets with an open client; the least recently used is closed."""
SECRET_SECONDS = 300.0
"""How long secrets are believed; a registry that refuses them has them read again before."""
_SECRET_PAUSE = 5.0
"""The least seconds between two readings of the same secrets."""
CACHE_LIMIT = 4 * MIB
"""The most bytes of manifests in memory, for pods without pull secrets; verdicts are remembered apart."""
_SECRET_CACHE_LIMIT = MIB // 2


def settings_of(configuration: WebhookConfiguration) -> RegistrySettings:
    """The client's settings. Its deadlines bound a look-up that outlives its pod, so they are longer than a pod's.

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
        fresh_seconds=configuration.cache.fresh_seconds,
        plain_http=frozenset(registries.plain_http),
        ca_files=tuple(map(Path, registries.ca_files)),
        mirrors=Path(registries.hosts_dir) if registries.hosts_dir else None,
        egress=EgressPolicy.of(registries.allowed, registries.allowed_networks),
        manifest_limit=MIB,
        blob_limit=MIB,
        values_limit=25_000,
        requests_limit=50,
        user_agent="multiarch-eks-webhook",
    )


def credentials_of(registries: RegistriesConfiguration) -> tuple[Credentials, ...]:
    """The sources of credentials that every pod may use. Raises MultiarchError for an invalid ``config.json``."""
    found: list[Credentials] = []
    if registries.docker_config:
        from multiarch.webhook.images.docker_config_file import DockerConfigFile  # noqa: PLC0415 (most have none)

        found.append(DockerConfigFile(Path(registries.docker_config)))
    if registries.ecr:
        found.append(EcrCredentials())
    return tuple(found)


def cache_of(configuration: WebhookConfiguration) -> Cache:
    """Where manifests are kept, for pods without pull secrets."""
    file = configuration.cache.file
    return MemoryCache(CACHE_LIMIT) if file is None else DiskCache(Path(file), CACHE_LIMIT)


@dataclass(slots=True)
class _Open:
    """An open client, how many use it, and the secrets that it has; ``retired``: its last user closes it."""

    client: RegistryClient
    cache: Cache
    secrets: SecretSet | None = None
    read: float = 0.0
    users: int = 0
    retired: bool = False

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with the secrets."""
        return () if self.secrets is None else self.secrets.faults

    async def retire(self) -> None:
        """Close it now, or after its last use."""
        self.retired = True
        if not self.users:
            await self.client.__aexit__(None, None, None)
            self.cache.close()


class Clients:
    """Use it with ``async with``, in one event loop."""

    def __init__(
        self,
        settings: RegistrySettings,
        credentials: Sequence[Credentials] = (),
        *,
        cache: Cache | None = None,
        secrets: SecretSource | None = None,
        allowed: Sequence[str] = (),
    ) -> None:
        """``cache`` is that of pods without pull secrets; ``allowed`` are the secrets (NAMESPACE/NAME) to read."""
        self._settings = settings
        self._credentials = tuple(credentials)
        self._secrets = secrets
        self._allowed = frozenset(allowed) if secrets is not None else frozenset()
        self._plain = self._made(None, MemoryCache(CACHE_LIMIT) if cache is None else cache)
        self._opened: OrderedDict[PullSecretNames, _Open] = OrderedDict()
        self._locks: LRUCache[PullSecretNames, asyncio.Lock] = LRUCache(REMEMBERED)
        self._identities: LRUCache[PullSecretNames, PullSecretNames] = LRUCache(REMEMBERED)

    @property
    def notes(self) -> list[str]:
        """A sentence for each problem with the cache on disk."""
        return list(getattr(self._plain.cache, "notes", ()))

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

    def identity(self, secrets: PullSecretNames) -> PullSecretNames:
        """Those of a pod's secrets that may be read; ``NO_SECRETS`` if there is none."""
        found = self._identities.get(secrets)
        if found is None:
            names = [name for name in dict.fromkeys(secrets.names) if f"{secrets.namespace}/{name}" in self._allowed]
            found = PullSecretNames(secrets.namespace, tuple(names)) if names else NO_SECRETS
            self._identities[secrets] = found
        return found

    @asynccontextmanager
    async def client(self, identity: PullSecretNames) -> AsyncIterator[tuple[RegistryClient, tuple[str, ...]]]:
        """The client of an identity, and what is wrong with its secrets."""
        opened = self._plain if not identity.names else await self._with_secrets(identity)
        opened.users += 1
        try:
            yield opened.client, opened.faults
        finally:
            opened.users -= 1
            if opened.retired:
                await opened.retire()

    async def renewed(self, identity: PullSecretNames) -> bool:
        """Read an identity's secrets again, unless that just happened; True if they changed."""
        opened = self._opened.get(identity)
        if opened is None or time.monotonic() - opened.read < _SECRET_PAUSE:
            return False
        opened.read = float("-inf")
        return await self._with_secrets(identity) is not opened

    async def _with_secrets(self, identity: PullSecretNames) -> _Open:
        async with self._locks.setdefault(identity, asyncio.Lock()):
            opened = self._opened.get(identity)
            if opened is not None and time.monotonic() - opened.read < SECRET_SECONDS:
                self._opened.move_to_end(identity)
                return opened
            if self._secrets is None:
                raise RuntimeError("there is no source of secrets")
            found = await self._secrets.read(identity)
            # What can't be read now is read again soon; what was read before is used meanwhile.
            read = time.monotonic() - (0.0 if found.complete else SECRET_SECONDS - _SECRET_PAUSE)
            same = opened is not None and opened.secrets is not None and found.contents == opened.secrets.contents
            if opened is not None and (same or not found.complete):
                opened.read = read
                return opened
            made = self._made(found, MemoryCache(_SECRET_CACHE_LIMIT))
            made.read = read
            await made.client.__aenter__()
            if opened is not None:
                await opened.retire()
            self._opened[identity] = made
            while len(self._opened) > MOST_CLIENTS:
                _, oldest = self._opened.popitem(last=False)
                await oldest.retire()
            return made

    def _made(self, secrets: SecretSet | None, cache: Cache) -> _Open:
        own = () if secrets is None else (secrets.credentials,)
        chain = CredentialChain(*own, *self._credentials)
        return _Open(RegistryClient(self._settings, chain, cache), cache, secrets)
