"""Arguments and options that say which objects a command reads: those of manifests, or of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from multiarch.kubernetes.access import ClusterAccess

ManifestsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="FILE|FOLDER|-", help="Manifests, YAML or JSON; - is stdin.")
]


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
        from multiarch.kubernetes.access import ClusterAccess

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
