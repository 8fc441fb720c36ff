"""Options of all commands that ask registries, and the client that they make."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from multiarch.cli.output import say
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.registry.cache.model import Cache
    from multiarch.registry.credentials.model import Credential, Credentials
    from multiarch.registry.model import Registry
    from multiarch.registry.reference import Reference

Result = TypeVar("Result")
DEFAULT_TIMEOUT = 60.0
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
InsecureOption = Annotated[
    list[str] | None,
    typer.Option(
        "--insecure-registry",
        metavar="HOST",
        help="Allow plain HTTP for this registry (HOST or HOST:PORT); may be repeated. Loopback is always allowed.",
    ),
]
CaFileOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Trust these certificates (PEM) besides the system's; may be repeated.",
    ),
]
HostsDirOption = Annotated[
    Path | None,
    typer.Option(
        "--hosts-dir",
        metavar="FOLDER",
        exists=True,
        file_okay=False,
        help="Use the mirrors that containerd's hosts.toml files in this folder name, such as /etc/containerd/certs.d.",
    ),
]
DockerConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--docker-config",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Take credentials from this config.json. Default: docker's own.",
    ),
]
NoCacheOption = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Ask for everything anew; do without the cache on disk, whose tags audits believe for 5 minutes.",
    ),
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="SECONDS", min=0.1, help="Give up on one manifest or blob after so long, retries included."
    ),
]


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """What the options said."""

    insecure: tuple[str, ...] = ()
    ca_files: tuple[Path, ...] = ()
    hosts_dir: Path | None = None
    docker_config: Path | None = None
    no_cache: bool = False
    timeout: float = DEFAULT_TIMEOUT


def options(
    insecure_registry: list[str] | None,
    ca_file: list[Path] | None,
    hosts_dir: Path | None,
    docker_config: Path | None,
    *,
    no_cache: bool,
    timeout: float,
) -> RegistryOptions:
    """The options as a command got them, in one value. Raises MultiarchError for a registry that is none."""
    for host in insecure_registry or ():
        if not _HOST.fullmatch(host):
            raise MultiarchError(
                f"--insecure-registry {host!r} is no HOST or HOST:PORT.",
                hint="Write it as in an image's name, without http:// and without a path: registry.example.com:5000.",
            )
    return RegistryOptions(
        tuple(insecure_registry or ()), tuple(ca_file or ()), hosts_dir, docker_config, no_cache, timeout
    )


def waited(work: Coroutine[Any, Any, Result]) -> Result:
    """What ``work`` comes to. The event loop is loaded here, so that commands that ask nobody start without it."""
    import asyncio

    return asyncio.run(work)


@asynccontextmanager
async def connected(
    options: RegistryOptions, *, more_credentials: Credentials | None = None, tags_anew: bool = False
) -> AsyncIterator[Registry]:
    """Open a client with docker's credentials, then ``more_credentials``, then ECR's.

    With ``tags_anew`` the registry is asked what a tag points at, however short ago it was.
    Raises MultiarchError for a configuration that can't be used.
    """
    from multiarch.registry.client import RegistryClient
    from multiarch.registry.credentials.docker_config import config_file, load
    from multiarch.registry.credentials.model import CredentialChain
    from multiarch.registry.settings import RegistrySettings

    usual = RegistrySettings()
    settings = RegistrySettings(
        plain_http=frozenset(options.insecure),
        ca_files=options.ca_files,
        mirrors=options.hosts_dir,
        total_seconds=options.timeout,
        connect_seconds=min(options.timeout, usual.connect_seconds),
        read_seconds=min(options.timeout, usual.read_seconds),
        fresh_seconds=0.0 if tags_anew else usual.fresh_seconds,
    )
    parts: list[Credentials] = [load(options.docker_config or config_file(os.environ))]
    if more_credentials is not None:
        parts.append(more_credentials)
    cache = _cache(options)
    try:
        async with RegistryClient(settings, CredentialChain(*parts, _LazyEcr()), cache) as client:
            yield client
    finally:
        cache.close()
        for note in getattr(cache, "notes", ()):
            say(f"note: {note}")


def _cache(options: RegistryOptions) -> Cache:
    from multiarch.registry.cache.memory import MemoryCache
    from multiarch.registry.cache.sqlite import SqliteCache, cache_file

    return MemoryCache() if options.no_cache else SqliteCache(cache_file(os.environ))


class _LazyEcr:
    """ECR's credentials, without loading AWS's library for registries that can't be ECR."""

    def __init__(self) -> None:
        self._made: Credentials | None = None

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """What ECR's credentials say. Raises RegistryError as they do."""
        if "ecr" not in reference.registry:
            return ()
        if self._made is None:
            from multiarch.registry.credentials.ecr import EcrCredentials

            self._made = EcrCredentials()
        return await self._made.for_repository(reference)
