"""``multiarch audit …``: what runs, or would run, and on which architectures it can."""

from __future__ import annotations

import typer

from multiarch.cli.audit import daemonsets, images, workloads

commands = typer.Typer(help="Say what is ready for arm64 nodes: images, DaemonSets, workloads.", no_args_is_help=True)
commands.command("images", help=images.HELP)(images.images)
commands.command("daemonsets", help=daemonsets.HELP)(daemonsets.daemonsets)
commands.command("workloads", help=workloads.HELP)(workloads.workloads)


@commands.callback()
def _group() -> None:
    """Say what is ready for arm64 nodes: images, DaemonSets, workloads."""
