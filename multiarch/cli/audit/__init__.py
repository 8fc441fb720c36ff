"""``multiarch audit``: what is ready for arm64 nodes."""

from __future__ import annotations

import typer

from multiarch.cli.audit import daemonsets, images, workloads
from multiarch.cli.usage import Command

commands = typer.Typer(
    name="audit", help="Show what is ready for arm64: images, DaemonSets, workloads.", no_args_is_help=True
)
commands.command("images", cls=Command, help=images.HELP)(images.images)
commands.command("daemonsets", cls=Command, help=daemonsets.HELP)(daemonsets.daemonsets)
commands.command("workloads", cls=Command, help=workloads.HELP)(workloads.workloads)
