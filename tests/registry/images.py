"""Small things to push, and clients to read them with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from multiarch.registry.client import RegistryClient
from multiarch.registry.credentials.model import Credential, Credentials
from multiarch.registry.model import OCI_MANIFEST, Descriptor
from multiarch.registry.reference import Reference
from multiarch.registry.settings import RegistrySettings
from tests.registry.server import ACCOUNT, Server

Result = TypeVar("Result")

CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
CONFIG = b'{"architecture":"arm64","os":"linux"}'
QUICK = RegistrySettings(backoff_seconds=0.01, total_seconds=10.0, connect_seconds=3.0, read_seconds=3.0)
"""Does not wait long before it tries again."""


class Known:
    """Knows the same credentials everywhere; ``asked`` is where."""

    def __init__(self, *credentials: Credential) -> None:
        self.credentials = credentials
        self.asked: list[str] = []

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        self.asked.append(reference.name)
        return self.credentials


READER = Credential(ACCOUNT.user, ACCOUNT.password, source="the tests")


def push(registry: Server, repository: str = "team/image", tag: str = "1.0", note: str = "") -> Descriptor:
    """Push a small image; another ``note`` makes another one."""
    return push_all(registry, repository, {tag: note})[0]


def push_all(registry: Server, repository: str, notes: Mapping[str, str]) -> list[Descriptor]:
    """Push a small image per tag, as ``push`` does."""
    config = registry.push_blob(repository, CONFIG, CONFIG_TYPE)
    pointer = {"mediaType": CONFIG_TYPE, "digest": config.digest, "size": config.size}
    fixed = {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": pointer, "layers": []}
    return [
        registry.push_manifest(repository, tag, fixed | {"annotations": {"note": note}}, OCI_MANIFEST)
        for tag, note in notes.items()
    ]


@asynccontextmanager
async def client(
    settings: RegistrySettings = QUICK,
    credentials: Credentials | Sequence[Credentials] = (),
) -> AsyncIterator[RegistryClient]:
    """A client that knows nothing unless it is given."""
    sources = credentials if isinstance(credentials, Sequence) else (credentials,)
    async with RegistryClient(settings, sources) as opened:
        yield opened


def asking(
    work: Callable[[RegistryClient], Awaitable[Result]],
    settings: RegistrySettings = QUICK,
    credentials: Credentials | Sequence[Credentials] = (),
) -> Result:
    """Return what ``work`` comes to with a client of its own, from a test that is no coroutine."""

    async def run() -> Result:
        async with client(settings, credentials) as opened:
            return await work(opened)

    return asyncio.run(run())
