"""All commands in one application."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from multiarch import __version__
from multiarch.cli.options.project import ProjectOption
from multiarch.cli.stack import STACK_COMMANDS, load_stack_commands
from multiarch.cli.usage import Application

_NOUNS = {
    "stack": "multiarch.cli.stack",
    "facts": "multiarch.cli.facts",
    "prices": "multiarch.cli.prices",
    "post": "multiarch.cli.post",
    "image": "multiarch.cli.image",
    "simulate": "multiarch.cli.simulate.command",
    "capacity": "multiarch.cli.capacity.command",
    "cost": "multiarch.cli.cost.command",
    "workload": "multiarch.cli.workload",
    "audit": "multiarch.cli.audit",
    "verify": "multiarch.cli.verify.commands",
    "rebalance": "multiarch.cli.rebalance.command",
    "webhook": "multiarch.cli.webhook.commands",
    "review": "multiarch.cli.review.command",
    "report": "multiarch.cli.report.command",
}
"""The module of each noun, whose ``commands`` are added to the application, in the order of the help text."""


def application(noun: str | None = None, verb: str | None = None) -> Any:  # noqa: ANN401  (typer's click is private)
    """Return the application, a command to call: with ``noun`` and ``verb`` alone, or with all if they are unknown."""
    return _application(noun if noun in _NOUNS else None, verb if noun == "stack" and verb in STACK_COMMANDS else None)


@cache
def _application(noun: str | None, verb: str | None) -> Any:  # noqa: ANN401  (as above)
    app = typer.Typer(
        name="multiarch",
        cls=Application,
        help="EKS with amd64 and arm64 (Graviton) node groups, from a few lines of YAML per team.",
        no_args_is_help=True,
        # Plain help texts: the same on every terminal and in the documents.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in [noun] if noun else _NOUNS:
        app.add_typer(load_stack_commands(verb) if name == "stack" else import_module(_NOUNS[name]).commands)
    return typer.main.get_command(app)


def _show_version(value: bool) -> None:  # noqa: FBT001  (typer calls it with the flag)
    if value:
        typer.echo(__version__)
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    project: ProjectOption = None,
) -> None:
    """Options before a command."""
