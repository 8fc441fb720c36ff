"""What a command found out, without regard to how it is printed: every output format renders this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from multiarch.frozen import dataclass
from multiarch.rules import Finding

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below column names.

    ``grouped``: rows are sorted by their first cell, and a terminal shows one table per value of it. ``matrix``: column
    names are names of things, not words, and there may be many of them: of those that begin with a number, the number
    alone is shown where a line has no room for all.
    """

    columns: Sequence[str]
    rows: Iterable[Sequence[str]]
    title: str = ""
    grouped: bool = False
    matrix: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences."""

    title: str
    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Details:
    """Statements about one thing, each with its reasons."""

    title: str
    statements: Sequence[tuple[str, Sequence[str]]]


Block = str | Table | Items | Details
"""A part of what a person reads; a ``str`` is one line or paragraph."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one command. The parts are functions: a format computes only what it prints.

    ``kind`` and ``data`` make the JSON document (docs/reference/json-output.md): ``data`` is a dataclass or a mapping
    that :func:`multiarch.serialization.to_json` reads, or a function that makes one. ``blocks`` is what a person reads,
    and ``findings`` is for code scanners.
    """

    kind: str
    data: object
    blocks: Callable[[], Iterable[Block]]
    findings: Callable[[], Iterable[Finding]] | None = None


def make_grouped_table(
    label: str,
    groups: Iterable[tuple[str, Iterable[Row]]],
    columns: Sequence[str],
    cells: Callable[[Row], Sequence[str]],
) -> Table:
    """Return a table with the ``cells`` of each row, ``grouped`` by the value of a ``label`` if there is one."""
    rows = [[value, *cells(row)] if label else list(cells(row)) for value, some in groups for row in some]
    return Table([label, *columns] if label else columns, rows, grouped=bool(label))
