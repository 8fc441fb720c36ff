"""Output formats. Each is one module with ``render(report)``, one row here, and open to every command that suits it."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import Annotated

import typer
from typer.models import OptionInfo

from multiarch.cli.formats.report import Report


class Format(StrEnum):
    """The formats. The module that renders one has its name."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    SARIF = "sarif"
    CODEQUALITY = "codequality"


_OF_FINDINGS = (Format.SARIF, Format.CODEQUALITY)


def _make_option(*omitted: Format) -> OptionInfo:
    offered = [form for form in Format if form not in omitted]

    def parse(value: str) -> Format:
        if value not in offered:
            names = ", ".join(repr(str(form)) for form in offered)
            raise typer.BadParameter(f"{value!r} is not one of {names}.")
        return Format(value)

    option: OptionInfo = typer.Option(
        "--output", "-o", parser=parse, metavar=f"[{'|'.join(offered)}]", help="Output format, on stdout."
    )
    return option


OutputOption = Annotated[Format, _make_option(*_OF_FINDINGS)]
FindingsOutputOption = Annotated[Format, _make_option()]
"""``--output`` of a command whose reports have findings."""


def print_report(report: Report, output: Format) -> None:
    """Print the report to stdout."""
    text: str = import_module(f"{__name__}.{output}").render(report)
    typer.echo(text, nl=False)
