"""Registry clients: one for pods without pull secrets, and one for each look-up with them.

A client is one identity: what a pod's secrets may read is not answered to pods without them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from cachetools import TTLCache

from multiarch.registry.cache import Cache
from multiarch.registry.client import RegistryClient
from multiarch.registry.credentials.docker_config import DockerConfig, DockerConfigError, load
from multiarch.registry.credentials.ecr import EcrCredentials
from multiarch.registry.credentials.model import Credential, Credentials
from multiarch.registry.egress import EgressPolicy
from multiarch.registry.reference import Reference
from multiarch.registry.settings import MIB, REMEMBERED, RegistrySettings
from multiarch.schema.webhook import RegistriesConfiguration, WebhookConfiguration
from multiarch.webhook.images.secrets import SecretSet, SecretSource
from multiarch.webhook.model import PullSecretNames

SECRET_SECONDS = 60.0
"""How long secrets are used before they are read again."""
_CACHE_BYTES = 4 * MIB
"""Manifests that a client keeps in memory; verdicts are remembered apart."""

_log = logging.getLogger(__name__)


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
        found.append(DockerConfigFile(Path(registries.docker_config)))
    if registries.ecr:
        found.append(EcrCredentials())
    return tuple(found)


class DockerConfigFile:
    """The credentials of a ``config.json`` as it is now: many registries' passwords last for hours.

    While the file is missing or invalid, what it had before is used.
    """

    def __init__(self, file: Path) -> None:
        """Read the file. Raises DockerConfigError."""
        self._file = file
        self._content = _read_bytes(file)
        self._current = load(file)

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """Return what docker would use for the repository's registry. Raises RegistryError as DockerConfig does."""
        # In a thread: a folder in a network may hang.
        self._current = await asyncio.to_thread(self._read_again)
        return await self._current.for_repository(reference)

    def _read_again(self) -> DockerConfig:
        content = _read_bytes(self._file)
        if content in (b"", self._content):
            return self._current
        self._content = content
        try:
            return load(self._file)
        except DockerConfigError as error:
            _log.warning("%s The credentials that were read before stay in use.", error)
            return self._current


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


class Clients:
    """Use it with ``async with``, in one event loop."""

    def __init__(
        self, settings: RegistrySettings, credentials: Sequence[Credentials] = (), secrets: SecretSource | None = None
    ) -> None:
        """``secrets`` reads the pull secrets of pods."""
        self._settings = settings
        self._credentials = tuple(credentials)
        self._secrets = secrets
        self._plain = self._make_client()
        self._read: TTLCache[PullSecretNames, asyncio.Task[SecretSet]] = TTLCache(REMEMBERED, SECRET_SECONDS)

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
        """Lend the client of an identity."""
        if not names.names:
            yield self._plain
            return
        async with self._make_client((await self.read_secrets(names)).credentials) as client:
            yield client

    async def read_secrets(self, names: PullSecretNames) -> SecretSet:
        """Return what the secrets hold, and what is wrong with them. They are read once a minute."""
        if self._secrets is None:
            raise RuntimeError("there is no source of secrets")
        reading = self._read.get(names)
        if reading is None:
            reading = self._read[names] = asyncio.get_running_loop().create_task(self._secrets.read(names))
        return await asyncio.shield(reading)

    def _make_client(self, *own: Credentials) -> RegistryClient:
        return RegistryClient(self._settings, (*own, *self._credentials), Cache(limit=_CACHE_BYTES))
