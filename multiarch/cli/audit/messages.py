"""What several audits print to stderr, and their options."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.cli.terminal import print_message
from multiarch.observed.workloads import NotRead
from multiarch.plurals import format_count, join_names

_SHOWN, _SHOWN_PATHS = 20, 5
"""Objects that notes name, one line each, and fields in such a line; the others are counted."""
ExplainOption = Annotated[
    bool, typer.Option("--explain", help="Print details and the next step of each row to stderr.")
]


def print_not_read(not_read: NotRead) -> None:
    """Print in which objects no image was found, and where there may be some that were not read."""
    if not_read.without_images:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(not_read.without_images.items()))
        print_message(f"note: no image found in {format_count(not_read.without_images.total(), 'object')}: {kinds}.")
    possible = sorted(not_read.possible.items())
    for title, paths in possible[:_SHOWN]:
        print_message(f"note: {title} may hold images that were not read: {join_names(paths, _SHOWN_PATHS)}.")
    if len(possible) > _SHOWN:
        print_message(
            f"note: {len(possible) - _SHOWN} more objects may hold images that were not read; see --output json."
        )
