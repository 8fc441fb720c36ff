"""The command line, run in this process: what it returned and what it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from multiarch.cli import main
from multiarch.cli.formats import Format, show
from multiarch.cli.formats.report import Report, Table


@dataclass(frozen=True)
class Ran:
    """One run. No run may end in a traceback."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.out)


type_of_run = Callable[..., Ran]


def runner(capsys: pytest.CaptureFixture[str]) -> type_of_run:
    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return Ran(code, captured.out, captured.err)

    return run


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """One table, as every command prints it."""
    show(Report("test", data=dict, blocks=lambda: [Table(columns, rows)]), Format.TABLE)
