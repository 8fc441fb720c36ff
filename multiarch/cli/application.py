"""All commands in one application, each noun imported when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Annotated

import typer

from multiarch import __version__

_NOUNS: Mapping[str, str] = MappingProxyType(
    {
        "stack": "multiarch.cli.stack.commands",
        "facts": "multiarch.cli.facts",
        "image": "multiarch.cli.image.commands",
        "simulate": "multiarch.cli.simulate.command",
        "workload": "multiarch.cli.workload.commands",
        "audit": "multiarch.cli.audit.commands",
    }
)
"""The module of each noun: its ``commands``, or the command of the noun's own name."""


def application(noun: str | None = None) -> typer.Typer:
    """Return the application with the commands of ``noun``, or with all of them where no noun is called that."""
    # Without rich markup help texts are plain text, the same on every terminal and in the README.
    made = typer.Typer(
        name="multiarch",
        help="EKS with amd64 and arm64 (Graviton) node groups, from a few lines of YAML per team.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_options)
    for name in (noun,) if noun is not None and noun in _NOUNS else tuple(_NOUNS):
        module = import_module(_NOUNS[name])
        if commands := getattr(module, "commands", None):
            made.add_typer(commands, name=name)
        else:
            made.command(name)(getattr(module, name))
    return made


def _show_version(value: bool) -> None:  # noqa: FBT001  (typer calls it with the flag)
    if value:
        typer.echo(__version__)
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before a command."""
