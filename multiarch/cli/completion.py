"""``kubectl_complete-multiarch``: what kubectl starts to complete ``kubectl multiarch``.

Source: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from contextlib import redirect_stdout

import typer

from multiarch.cli import main as run_command_line

_FILES, _NO_FILES = 0, 4
"""Values of Cobra's ShellCompDirective: kubectl completes names of files, or does not."""


def main() -> int:
    """Print the completions of the last argument with their descriptions, then the directive for kubectl."""
    *before, incomplete = sys.argv[1:] or [""]
    # Typer's protocol for fish: a completion, a tab, and its description; a description is not broken into lines.
    os.environ |= {
        "_MULTIARCH_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": f"{shlex.join(['multiarch', *before])} {shlex.quote(incomplete) if incomplete else ''}",
        "COLUMNS": "1000",
    }
    with redirect_stdout(io.StringIO()) as found:
        run_command_line([])
    words = found.getvalue().strip()
    typer.echo(f"{words}\n:{_NO_FILES}" if words else f":{_FILES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
