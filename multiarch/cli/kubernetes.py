"""Options that say which cluster and what of it, for every command that reads a live one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

KubeconfigOption = Annotated[
    Path | None,
    typer.Option("--kubeconfig", metavar="FILE", help="The kubeconfig. Default: KUBECONFIG, then ~/.kube/config."),
]
ContextOption = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="The kubeconfig's context. Default: its current-context."),
]
NamespacesOption = Annotated[
    list[str] | None,
    typer.Option("--namespace", "-n", metavar="NAME", help="Read this namespace; may be repeated. Default: all."),
]
SelectorOption = Annotated[
    str | None,
    typer.Option("--selector", "-l", metavar="LABELS", help="Read what has these labels: app=api,tier!=test."),
]


def cluster_options(**options: object) -> list[str]:
    """Names of the options that were given, of those that are about a cluster."""
    return [f"--{name}" for name, value in options.items() if value]
