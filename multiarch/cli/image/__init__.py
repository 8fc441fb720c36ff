"""``multiarch image``: the platforms of one image, and whether its binaries match them."""

from __future__ import annotations

import typer

from multiarch.cli.image import inspect, verify
from multiarch.cli.usage import Command

commands = typer.Typer(name="image", help="Inspect one image: its platforms and its binaries.", no_args_is_help=True)
commands.command("inspect", cls=Command, help=inspect.HELP, no_args_is_help=True)(inspect.inspect)
commands.command("verify", cls=Command, help=verify.HELP, no_args_is_help=True)(verify.verify)
