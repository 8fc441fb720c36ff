"""``multiarch workload``: what pods ask of nodes, changed in their manifests."""

from __future__ import annotations

import typer

from multiarch.cli.workload import patch

commands = typer.Typer(help="Change which nodes the pods of manifests may be on.", no_args_is_help=True)
commands.command("patch", help=patch.HELP, no_args_is_help=True)(patch.patch)


@commands.callback()
def _group() -> None:
    """Change which nodes the pods of manifests may be on."""
