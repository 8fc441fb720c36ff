"""``multiarch stack schema``: the JSON Schema of stack files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiarch.cli.terminal import say

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
    from multiarch.cli.files import write_atomically
    from multiarch.stack.json_schema import SCHEMA_FILE, text
    from multiarch.stack.load import project_root

    if not write:
        typer.echo(text(), nl=False)
        return
    path = project_root(Path.cwd()) / SCHEMA_FILE
    write_atomically(path, text())
    say(f"Wrote {path}.")
