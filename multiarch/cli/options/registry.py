"""Options of all commands that read images."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from multiarch.errors import MultiarchError
from multiarch.observed.images import RegistryAccess

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
        typer.Option("--no-cache", hidden=True, help="Accepted from before; nothing is cached on disk."),
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

    @property
    def access(self) -> RegistryAccess:
        """How registries are read."""
        return RegistryAccess(
            plain_http=frozenset(self.insecure_registry or ()),
            ca_files=tuple(self.ca_file or ()),
            mirrors=self.hosts_dir,
            docker_config=self.docker_config,
            seconds=self.timeout,
        )
