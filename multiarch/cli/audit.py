"""``multiarch audit …``: what runs, or would run, and on which architectures it can."""

from __future__ import annotations

import typer

from multiarch.cli import audit_daemonsets, audit_images, audit_workloads

commands = typer.Typer(help="Say what is ready for arm64 nodes: images, DaemonSets, workloads.", no_args_is_help=True)
commands.command("images", help=audit_images.HELP)(audit_images.images)
commands.command("daemonsets", help=audit_daemonsets.HELP)(audit_daemonsets.daemonsets)
commands.command("workloads", help=audit_workloads.HELP)(audit_workloads.workloads)


@commands.callback()
def _group() -> None:
    """Say what is ready for arm64 nodes: images, DaemonSets, workloads."""
