"""``multiarch image``: what one image has, and whether it is what it says."""

from __future__ import annotations

import typer

from multiarch.cli.image import inspect, verify

commands = typer.Typer(
    help="Look into one image: its platforms, and whether its binaries are theirs.", no_args_is_help=True
)
commands.command("inspect", help=inspect.HELP, no_args_is_help=True)(inspect.inspect)
commands.command("verify", help=verify.HELP, no_args_is_help=True)(verify.verify)


@commands.callback()
def _group() -> None:
    """Look into one image: its platforms, and whether its binaries are theirs."""
