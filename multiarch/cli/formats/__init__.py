"""Output formats. Each is one module with ``render(report)``, one row here, and open to every command that suits it."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import Annotated

import typer
from typer.models import OptionInfo

from multiarch.cli.formats.report import Report
from multiarch.cli.usage import make_choice


class Format(StrEnum):
    """The formats. The module that renders one has its name."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    SARIF = "sarif"
    CODEQUALITY = "codequality"


_OF_FINDINGS = (Format.SARIF, Format.CODEQUALITY)


def make_output_option(*omitted: Format) -> OptionInfo:
    """Return ``--output`` with all formats but the ``omitted`` ones."""
    offered = [form for form in Format if form not in omitted]
    metavar = f"[{'|'.join(offered)}]"
    return make_choice(offered, "--output", "-o", metavar=metavar, text="Output format, on stdout.")


OutputOption = Annotated[Format, make_output_option(Format.CSV, *_OF_FINDINGS)]
RowsOutputOption = Annotated[Format, make_output_option(*_OF_FINDINGS)]
"""``--output`` of a command whose reports always have a table."""
FindingsOutputOption = Annotated[Format, make_output_option(Format.CSV)]
"""``--output`` of a command whose reports have findings."""


def print_report(report: Report, output: Format) -> None:
    """Print the report to stdout."""
    text: str = import_module(f"{__name__}.{output}").render(report)
    typer.echo(text, nl=False)
