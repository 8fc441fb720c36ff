"""``multiarch stack``: write, check, explain, render and pin stack files."""

from __future__ import annotations

import typer

from multiarch.cli.stack import affected, check, explain, listing, new, pin, render, schema
from multiarch.cli.usage import Command

commands = typer.Typer(name="stack", help="Write, check, explain, render and pin stacks.", no_args_is_help=True)
commands.command("new", help=new.HELP)(new.new)
commands.command("list", help=listing.HELP)(listing.list_stacks)
commands.command("check", cls=Command, help=check.HELP)(check.check)
commands.command("explain", cls=Command, help=explain.HELP)(explain.explain)
commands.command("render", cls=Command, help=render.HELP)(render.render)
commands.command("affected", help=affected.HELP)(affected.affected)
commands.command("pin", cls=Command, help=pin.HELP)(pin.pin)
commands.command("schema", help=schema.HELP)(schema.schema)
