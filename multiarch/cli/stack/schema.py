"""``multiarch stack schema``: the JSON Schema of stack files."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.cli.options.project import get_chosen_project
from multiarch.cli.terminal import print_message
from multiarch.files import write_atomically
from multiarch.runs.stacks import find_root
from multiarch.stack.json_schema import SCHEMA_FILE, render_schema

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
        typer.echo(render_schema(), nl=False)
        return
    path = find_root(get_chosen_project()) / SCHEMA_FILE
    write_atomically(path, render_schema())
    print_message(f"Wrote {path}.")
