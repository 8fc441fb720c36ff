"""Options that the audits share."""

from __future__ import annotations

from typing import Annotated

import typer

ExplainOption = Annotated[
    bool, typer.Option("--explain", help="Print details and the next step of each row to stderr.")
]
