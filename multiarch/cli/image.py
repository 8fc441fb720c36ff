"""``multiarch image``: what one image has, and whether it is what it says."""

from __future__ import annotations

import typer

from multiarch.cli import image_inspect, image_verify

commands = typer.Typer(
    help="Look into one image: its platforms, and whether its binaries are theirs.", no_args_is_help=True
)
commands.command("inspect", help=image_inspect.HELP, no_args_is_help=True)(image_inspect.inspect)
commands.command("verify", help=image_verify.HELP, no_args_is_help=True)(image_verify.verify)


@commands.callback()
def _group() -> None:
    """Look into one image: its platforms, and whether its binaries are theirs."""
