"""Each output format renders any report: one report here, and what every format makes of it."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from multiarch.cli import formats
from multiarch.cli.formats import Format
from multiarch.cli.formats.report import (
    Details,
    Finding,
    FindingRule,
    Findings,
    Items,
    Location,
    Report,
    Table,
)

RULE = FindingRule("too-long", "error", "A name is too long.")
LOCATIONS = (Location("my file.yaml", 3), Location(None, None, "c", "n/c"))
COLUMNS = ("team", "name", "reason")
ROWS = [("", "b|b", "=1+1"), ("cart", "a", "two\nlines"), ("cart", "c", "<b>")]
REPORT = Report(
    "test",
    data=lambda: {"names": ["a", "b|b", "c"]},
    blocks=lambda: [
        "first *line*",
        "second",
        Table(COLUMNS, ROWS, grouped=True),
        Details("shop/a", [("x, y: FAILS", ["reason one", "reason\ntwo"]), ("z: unknown", ["reason three"])]),
        Items("Notes", ["a note"]),
        Table(("thing", "general", "x" * 70, "y" * 70), [("a", "1", "2", "3")], title="Matrix", matrix=True),
    ],
    records=lambda: Table(COLUMNS, ROWS),
    findings=lambda: Findings(
        [RULE],
        [
            Finding(
                RULE, "a is too long", [Location("my file.yaml", 3), Location(None, None, "c", "n/c")], ("key/v1", "a")
            )
        ],
    ),
)


def rendered(form: Format) -> str:
    return str(import_module(f"multiarch.cli.formats.{form}").render(REPORT))


def test_every_module_is_a_format_and_every_format_a_module() -> None:
    modules = {path.stem for path in Path(str(formats.__file__)).parent.glob("*.py")}
    assert modules - {"__init__", "report"} == set(Format)


def test_a_table_is_split_by_groups_and_by_width() -> None:
    lines = [line for line in rendered(Format.TABLE).splitlines() if "─" not in line]
    assert lines == [
        "first *line*",
        "second",
        "",
        "without team",
        " NAME   REASON",
        " b|b    =1+1",
        "",
        "team=cart",
        " NAME   REASON",
        " a      two",
        "        lines",
        " c      <b>",
        "",
        "shop/a",
        "  x, y: FAILS",
        "    reason one",
        "    reason two",
        "  z: unknown",
        "    reason three",
        "",
        "Notes",
        "- a note",
        "",
        "Matrix",
        f" thing   general   {'x' * 70}",
        " a       1         2",
        "",
        f" thing   {'y' * 70}",
        " a       3",
    ]


def test_json_has_version_kind_and_data() -> None:
    assert json.loads(rendered(Format.JSON)) == {"version": "1", "kind": "test", "names": ["a", "b|b", "c"]}


def test_csv_has_crlf_and_no_formulas() -> None:
    assert rendered(Format.CSV) == 'team,name,reason\r\n,b|b,\'=1+1\r\ncart,a,"two\nlines"\r\ncart,c,<b>\r\n'


def test_markdown_shows_text_as_it_is() -> None:
    assert rendered(Format.MARKDOWN).splitlines()[:22] == [
        "first \\*line\\*",
        "",
        "second",
        "",
        "| team | name | reason |",
        "| --- | --- | --- |",
        "|  | b\\|b | =1+1 |",
        "| cart | a | two lines |",
        "| cart | c | <b> |",
        "",
        "**shop/a**",
        "",
        "x, y: FAILS",
        "",
        "- reason one",
        "- reason two",
        "",
        "z: unknown",
        "",
        "- reason three",
        "",
        "**Notes**",
    ]


def test_sarif_has_rules_places_and_fingerprints() -> None:
    (one,) = json.loads(rendered(Format.SARIF))["runs"]
    assert one["tool"]["driver"]["rules"][0]["id"] == "too-long"
    (result,) = one["results"]
    assert (result["ruleIndex"], result["partialFingerprints"]) == (0, {"key/v1": "a"})
    assert result["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "my%20file.yaml"}, "region": {"startLine": 3}}},
        {"logicalLocations": [{"name": "c", "fullyQualifiedName": "n/c", "kind": "resource"}]},
    ]


@pytest.mark.parametrize("form", [Format.CSV, Format.SARIF])
def test_a_report_without_the_part_that_a_format_needs_is_not_printed(form: Format) -> None:
    bare = Report("test", data=dict, blocks=list)
    with pytest.raises(TypeError, match="test has no"):
        formats.show(bare, form)
