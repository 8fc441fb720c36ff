"""The command line, run in this process: what it returned and what it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from multiarch.cli import main
from multiarch.cli.formats import Format, print_report, table
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
    print_report(Report("test", data=dict, blocks=lambda: [Table(columns, rows)]), Format.TABLE)


_NARROW = 80


@contextmanager
def every_table_read_at_80_columns() -> Iterator[None]:
    """Render each report that is printed as a table a second time for a narrow terminal, and look for broken words."""
    render = table.render

    def twice(report: Report) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", str(_NARROW))
            patch.setenv("NO_COLOR", "1")
            patch.setenv("TERM", "dumb")
            patch.setattr("sys.stdout.isatty", lambda: True)
            narrow = render(report)
        printed = set(narrow.split())
        tables = [block for block in report.blocks() if isinstance(block, Table)]
        cells = {cell for each in tables for row in each.rows for cell in row if cell.isprintable()}
        words = {word for cell in cells for word in cell.split()}
        broken = {word for word in words if word not in printed}
        grouped = {f"{each.columns[0]}={row[0]}" for each in tables if each.grouped for row in each.rows}
        assert broken <= {word for name in grouped for word in name.partition("=")[2].split()}, narrow
        assert not [line for line in narrow.splitlines() if len(line) > _NARROW and len(line.split()) > 1], narrow
        return render(report)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "render", twice)
        yield
