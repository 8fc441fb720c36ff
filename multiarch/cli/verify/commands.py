"""``multiarch verify``: what really runs on a cluster's nodes."""

from __future__ import annotations

import typer

from multiarch.cli.usage import Command
from multiarch.cli.verify import nodes, pods

commands = typer.Typer(name="verify", help="Prove what runs on a cluster's nodes.", no_args_is_help=True)
commands.command("nodes", cls=Command, help=nodes.HELP)(nodes.nodes)
commands.command("pods", cls=Command, help=pods.HELP)(pods.pods)
