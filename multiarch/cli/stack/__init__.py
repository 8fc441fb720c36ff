"""``multiarch stack``: write, check, explain, render and pin stack files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import typer

from multiarch.cli.usage import Command

STACK_COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "new": ("new", "new", "HELP"),
    "list": ("check", "list_stacks", "LIST"),
    "check": ("check", "check", "HELP"),
    "explain": ("explain", "explain", "HELP"),
    "render": ("render", "render", "HELP"),
    "affected": ("affected", "affected", "HELP"),
    "pin": ("pin", "pin", "HELP"),
    "schema": ("schema", "schema", "HELP"),
}
"""The module of each command, its function and its help text."""


def load_stack_commands(only: str | None = None) -> typer.Typer:
    """Return the commands, or ``only`` one of them: `stack check` starts fast, because no other module is loaded."""
    commands = typer.Typer(name="stack", help="Write, check, explain, render and pin stacks.", no_args_is_help=True)
    for name in [only] if only else STACK_COMMANDS:
        module, function, text = STACK_COMMANDS[name]
        loaded = import_module(f"{__name__}.{module}")
        commands.command(name, cls=Command, help=getattr(loaded, text))(getattr(loaded, function))
    return commands
