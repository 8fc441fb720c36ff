"""All commands in one application."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch import __version__
from multiarch.cli import facts
from multiarch.cli.audit.commands import commands as audit
from multiarch.cli.image.commands import commands as image
from multiarch.cli.simulate.command import simulate
from multiarch.cli.stack.commands import commands as stack
from multiarch.cli.workload.commands import commands as workload

# Without rich markup help texts are plain text, the same on every terminal and in the README.
application = typer.Typer(
    name="multiarch",
    help="EKS with amd64 and arm64 (Graviton) node groups, from a few lines of YAML per team.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
application.add_typer(stack, name="stack")
application.add_typer(facts.commands, name="facts")
application.add_typer(image, name="image")
application.command("simulate")(simulate)
application.add_typer(workload, name="workload")
application.add_typer(audit, name="audit")


def _show_version(value: bool) -> None:  # noqa: FBT001  (typer calls it with the flag)
    if value:
        typer.echo(__version__)
        raise typer.Exit


@application.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before a command."""
