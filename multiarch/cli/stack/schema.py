"""``multiarch stack schema``: the JSON Schema of stack files."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.cli.options.project import chosen_project
from multiarch.cli.terminal import say
from multiarch.files import write_atomically
from multiarch.runs.stacks import find_root
from multiarch.stack.json_schema import SCHEMA_FILE, text

HELP = """Print the JSON Schema of stack files. Editors use it for completion and validation.

\b
Examples:
  multiarch stack schema
  multiarch stack schema --write

Exit code: 0; 2 outside a project."""


def schema(
    *, write: Annotated[bool, typer.Option("--write", help="Write the project's config/stack.schema.json.")] = False
) -> None:
    """Print the schema, as :data:`HELP` says."""
    if not write:
        typer.echo(text(), nl=False)
        return
    path = find_root(chosen_project()) / SCHEMA_FILE
    write_atomically(path, text())
    say(f"Wrote {path}.")
