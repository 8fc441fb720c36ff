"""``multiarch audit``: what is ready for arm64 nodes."""

from __future__ import annotations

import typer

from multiarch.cli.audit import daemonsets, images, workloads

commands = typer.Typer(
    name="audit", help="Show what is ready for arm64 nodes: images, DaemonSets, workloads.", no_args_is_help=True
)
commands.command("images", help=images.HELP)(images.images)
commands.command("daemonsets", help=daemonsets.HELP)(daemonsets.daemonsets)
commands.command("workloads", help=workloads.HELP)(workloads.workloads)
