"""Options that say which objects a command reads: those of manifests, or of a live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.lines import is_plugin
from multiarch.errors import MultiarchError
from multiarch.kubernetes.source import ClusterAccess
from multiarch.observed.objects import ObjectSource

SOURCES = "--manifests FILE reads manifests, --live reads a cluster."

ManifestsArgument = Annotated[list[str] | None, typer.Argument(hidden=True, metavar="FILE|FOLDER|-")]
"""Files without ``--manifests`` before them, and more files after ``--manifests FILE``."""


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """The options that choose a cluster, as they were given."""

    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The kubeconfig. Default: KUBECONFIG, then ~/.kube/config.")
    ] = None
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="The kubeconfig's context. Default: the current.")
    ] = None

    @property
    def access(self) -> ClusterAccess:
        """The cluster."""
        return ClusterAccess(self.kubeconfig, self.context)

    @property
    def given(self) -> str:
        """The options that were given, for an error: ``--context, --namespace``."""
        return ", ".join(f"--{field.name}" for field in fields(self) if getattr(self, field.name))


@dataclass(frozen=True, slots=True)
class ClusterOptions(AccessOptions):
    """Those, and the options that choose objects in it."""

    namespace: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Only this namespace; may be repeated. Default: all."),
    ] = None
    selector: Annotated[
        str,
        typer.Option("--selector", "-l", metavar="LABELS", help="Only objects with these labels: app=api,tier!=test."),
    ] = ""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Files with manifests, or a live cluster; or neither."""

    manifests: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Read manifests: a YAML or JSON file, a folder, or - for standard input. May be repeated.",
        ),
    ] = None
    live: Annotated[bool, typer.Option("--live", help="Read a live cluster.")] = False

    @property
    def files(self) -> list[str]:
        """The files with manifests."""
        return self.manifests or []

    def choose_live(self, cluster: AccessOptions, *, required: bool = False) -> bool:
        """Return whether a live cluster is read: with ``--live``, an option that chooses it, or as a kubectl plugin.

        Raises MultiarchError for options that are mutually exclusive; with ``required``, also if none is given.
        """
        self._reject_both(self.files, cluster)
        live = self.live or bool(cluster.given) or (is_plugin() and not self.files)
        if required and not self.files and not live:
            raise MultiarchError("No workloads are given.", hint=SOURCES)
        return live

    def choose_objects(self, cluster: ClusterOptions, more: Sequence[str] | None = None) -> ObjectSource:
        """Return the source of objects for a command that reads a live cluster unless manifests are given.

        ``more`` are files of :data:`ManifestsArgument`. Raises MultiarchError for options that are mutually exclusive.
        """
        files = (*self.files, *(more or ()))
        self._reject_both(files, cluster)
        return ObjectSource(files, cluster.access, tuple(cluster.namespace or ()), cluster.selector)

    def _reject_both(self, files: Sequence[str], cluster: AccessOptions) -> None:
        if files and self.live:
            raise MultiarchError("--manifests and --live are mutually exclusive.", hint=SOURCES)
        if files and cluster.given:
            raise MultiarchError(f"{cluster.given} can't be combined with --manifests.", hint=SOURCES)
