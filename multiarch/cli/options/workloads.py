"""The options that say where workloads come from: manifests, or a live cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.cli.options.cluster import AccessOptions

SOURCES = "--workloads FILE reads manifests, --live reads a cluster."


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """Files with manifests, or a live cluster; or neither."""

    workloads: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Manifests: a YAML or JSON file, a folder, or -. May be repeated."),
    ] = None
    live: Annotated[bool, typer.Option("--live", help="The workloads and nodes of a live cluster.")] = False

    @property
    def files(self) -> list[str]:
        """The files with manifests."""
        return self.workloads or []

    def validate(self, cluster: AccessOptions) -> None:
        """Raise MultiarchError for options that exclude each other."""
        if self.files and self.live:
            raise MultiarchError("--workloads and --live exclude each other.", hint=SOURCES)
        if cluster.given and not self.live:
            raise MultiarchError(f"{cluster.given} needs --live.", hint=SOURCES)
