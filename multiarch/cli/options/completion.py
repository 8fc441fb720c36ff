"""Completion of stack names by the shell."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from multiarch.cli.options.project import CHOSEN, root
from multiarch.errors import MultiarchError


def stack_names(context: typer.Context, incomplete: str) -> list[str]:
    """The stacks whose names begin so; the shell itself completes files."""
    from multiarch.stack.load import stack_files

    CHOSEN.set(context.find_root().params.get("project"))
    try:
        names = [path.name.removeprefix("Pulumi.").removesuffix(path.suffix) for path in stack_files(root())]
    except MultiarchError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def completed_words(environment: Mapping[str, str]) -> list[str]:
    """The words behind the program's name that a shell asks to complete; empty if the shell asks for nothing."""
    if not any(name.endswith("MULTIARCH_COMPLETE") for name in environment):
        return []
    return (environment.get("COMP_WORDS") or environment.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]
