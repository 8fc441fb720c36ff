"""``multiarch webhook``: the admission webhook that adds the arm64 toleration."""

from __future__ import annotations

import typer

from multiarch.cli.usage import Command
from multiarch.cli.webhook import manifests, policy, serve

commands = typer.Typer(name="webhook", help="Run and install the admission webhook.", no_args_is_help=True)
commands.command("serve", cls=Command, help=serve.HELP)(serve.serve)
commands.command("manifests", cls=Command, help=manifests.HELP)(manifests.manifests)
commands.command("policy", cls=Command, help=policy.HELP)(policy.policy)
