"""The clone of the project in which a command finds stacks by name."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

CHOSEN: ContextVar[Path | None] = ContextVar("CHOSEN", default=None)
"""The folder that ``--project`` names."""


def _choose(folder: Path | None) -> Path | None:
    CHOSEN.set(folder)
    return folder


ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="FOLDER",
        callback=_choose,
        help="The clone of the project. Default: the working folder, or one above it.",
    ),
]


def get_chosen_project() -> Path | None:
    """Return the folder that ``--project`` names, None for the working folder."""
    return CHOSEN.get()
