"""Options of all commands that read images, and the registry client that they configure."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from multiarch.cli.terminal import say
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.registry.cache.model import Cache
    from multiarch.registry.credentials.model import Credentials
    from multiarch.registry.model import Registry

Result = TypeVar("Result")
ImageArgument = Annotated[str, typer.Argument(metavar="IMAGE", help="An image, written as in a pod: nginx:1.27.")]
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """The options as they were given."""

    insecure_registry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="Allow plain HTTP for this registry (HOST or HOST:PORT); may be repeated. Loopback is always allowed.",
        ),
    ] = None
    ca_file: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Trust these certificates (PEM) besides the system's; may be repeated.",
        ),
    ] = None
    hosts_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="Use the mirrors in containerd's hosts.toml files below this folder, such as /etc/containerd/certs.d.",
        ),
    ] = None
    docker_config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Read credentials from this config.json. Default: docker's own.",
        ),
    ] = None
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Bypass the on-disk cache (audits otherwise trust cached tags for 5 minutes)."),
    ] = False
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="Time limit for one image, and for its list of tags, with all requests. Default: 60, and 600 for "
            "`image verify`.",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Raise MultiarchError for an invalid registry."""
        for host in self.insecure_registry or ():
            if not _HOST.fullmatch(host):
                raise MultiarchError(
                    f"--insecure-registry {host!r} is not HOST or HOST:PORT.",
                    hint="Write it as in an image name, without http:// or a path: registry.example.com:5000.",
                )


def ask(
    options: RegistryOptions,
    work: Callable[[Registry], Awaitable[Result]],
    *,
    credentials: Credentials | None = None,
    fresh_tags: bool = False,
) -> Result:
    """Run ``work`` with a registry client. The event loop is loaded here: other commands start without it.

    The client tries docker's credentials, then ``credentials``, then ECR's. With ``fresh_tags`` the registry is asked
    what a tag points at, however old the cached answer. Raises MultiarchError for an invalid configuration.
    """
    import asyncio

    from multiarch.threads import DaemonThreads

    async def asked() -> Result:
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        async with _connected(options, credentials, fresh_tags=fresh_tags) as registry:
            return await work(registry)

    return asyncio.run(asked())


@asynccontextmanager
async def _connected(
    options: RegistryOptions, credentials: Credentials | None, *, fresh_tags: bool
) -> AsyncIterator[Registry]:
    from multiarch.registry.client import RegistryClient
    from multiarch.registry.credentials.docker_config import config_file, load
    from multiarch.registry.credentials.ecr import EcrCredentials
    from multiarch.registry.credentials.model import CredentialChain
    from multiarch.registry.settings import RegistrySettings

    usual = RegistrySettings()
    timeout = usual.total_seconds if options.timeout is None else options.timeout
    settings = RegistrySettings(
        plain_http=frozenset(options.insecure_registry or ()),
        ca_files=tuple(options.ca_file or ()),
        mirrors=options.hosts_dir,
        total_seconds=timeout,
        connect_seconds=min(timeout, usual.connect_seconds),
        read_seconds=min(timeout, usual.read_seconds),
        fresh_seconds=0.0 if fresh_tags else usual.fresh_seconds,
    )
    parts: list[Credentials] = [load(options.docker_config or config_file(os.environ))]
    if credentials is not None:
        parts.append(credentials)
    cache = _cache(options)
    try:
        async with RegistryClient(settings, CredentialChain(*parts, EcrCredentials()), cache) as client:
            yield client
    finally:
        cache.close()
        for note in getattr(cache, "notes", ()):
            say(f"note: {note}")


def _cache(options: RegistryOptions) -> Cache:
    from multiarch.registry.cache.memory import MemoryCache
    from multiarch.registry.cache.sqlite import SqliteCache, cache_file

    file = None if options.no_cache else cache_file(os.environ)
    return MemoryCache() if file is None else SqliteCache(file)
