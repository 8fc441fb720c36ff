"""Options of the commands that read or write prices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PricesFile = Annotated[Path, typer.Option(metavar="FILE", help="The file of prices.")]
