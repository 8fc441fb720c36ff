"""``multiarch audit …``: what runs, or would run, and on which architectures it can."""

from __future__ import annotations

import typer

from multiarch.cli import audit_daemonsets, audit_images

commands = typer.Typer(help="Say what is ready for arm64 nodes: images, DaemonSets, workloads.", no_args_is_help=True)
commands.command("images", help=audit_images.HELP)(audit_images.images)
commands.command("daemonsets", help=audit_daemonsets.HELP)(audit_daemonsets.daemonsets)


@commands.callback()
def _group() -> None:
    """Say what is ready for arm64 nodes: images, DaemonSets, workloads."""
