"""``multiarch workload``: change which nodes pods may use."""

from __future__ import annotations

import typer

from multiarch.cli.usage import Command
from multiarch.cli.workload import patch

commands = typer.Typer(name="workload", help="Change which nodes the pods of manifests may use.", no_args_is_help=True)
commands.command("patch", cls=Command, help=patch.HELP, no_args_is_help=True)(patch.patch)
