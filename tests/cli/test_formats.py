"""Each output format renders any report: one report here, and what every format makes of it."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from multiarch.cli import formats
from multiarch.cli.formats import Format, codequality
from multiarch.cli.formats.csv import escape_cell
from multiarch.cli.formats.report import (
    Details,
    Items,
    Report,
    Table,
)
from multiarch.escaping import escape_terminal, format_json
from multiarch.markdown import escape_markdown
from multiarch.rules import Finding, Location
from multiarch.rules.rule import error

RULE = error("too-long", "a name that is too long", "Shorten it.")
COLUMNS = ("team", "name", "reason")
ROWS = [("", "b|b", "1+1"), ("cart", "a", "two\nlines"), ("cart", "c", "<b>")]
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
    findings=lambda: [
        Finding(
            RULE,
            "a",
            "is too long",
            locations=[Location("my file.yaml", 3), Location(None, None, "c", "n/c")],
            fingerprint=("key/v1", "a"),
        )
    ],
)


def rendered(form: Format) -> str:
    return str(import_module(f"multiarch.cli.formats.{form}").render(REPORT))


def test_every_module_is_a_format_and_every_format_a_module() -> None:
    modules = {path.stem for path in Path(str(formats.__file__)).parent.glob("*.py")}
    assert modules - {"__init__", "columns", "report"} == set(Format)


def test_a_table_is_split_by_groups_and_by_width() -> None:
    lines = [line for line in rendered(Format.TABLE).splitlines() if "─" not in line]
    assert lines == [
        "first *line*",
        "second",
        "",
        "without team",
        " NAME   REASON",
        " b|b    1+1",
        "",
        "team=cart",
        " NAME   REASON",
        " a      two\\nlines",
        " c      <b>",
        "",
        "shop/a",
        "  x, y: FAILS",
        "    reason one",
        "    reason\\ntwo",
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
    assert json.loads(rendered(Format.JSON)) == {"version": "2", "kind": "test", "names": ["a", "b|b", "c"]}


def test_csv_has_crlf_and_no_formulas() -> None:
    assert rendered(Format.CSV) == "team,name,reason\r\n,b|b,1+1\r\ncart,a,two\\nlines\r\ncart,c,<b>\r\n"
    for cell in ("=1", "+1", "-1", "@a", "\t=1", "\n=1", "＝1"):  # noqa: RUF001
        assert escape_cell(cell).startswith("'")
        assert escape_cell(cell).isprintable()


def test_markdown_shows_text_as_it_is() -> None:
    assert rendered(Format.MARKDOWN).splitlines()[:22] == [
        "first \\*line\\*",
        "",
        "second",
        "",
        "| team | name | reason |",
        "| --- | --- | --- |",
        "|  | b\\|b | 1+1 |",
        "| cart | a | two\\\\nlines |",
        "| cart | c | \\<b\\> |",
        "",
        "**shop/a**",
        "",
        "x, y: FAILS",
        "",
        "- reason one",
        "- reason\\\\ntwo",
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


def test_code_quality_has_an_entry_per_place_with_a_fingerprint_of_its_own() -> None:
    first, second = json.loads(rendered(Format.CODEQUALITY))
    assert first["location"] == {"path": "my file.yaml", "lines": {"begin": 3}}
    assert second["location"] == {"path": "n/c", "lines": {"begin": 1}}
    assert {(each["check_name"], each["severity"], each["description"]) for each in (first, second)} == {
        ("too-long", "critical", "a: is too long")
    }
    assert first["fingerprint"] != second["fingerprint"]


def test_code_quality_tells_two_findings_of_one_key_apart() -> None:
    place = Location("a.yaml", 3)
    twice = [Finding(RULE, "", text, locations=[place], fingerprint=("key/v1", "a")) for text in ("one", "two")]
    report = Report("test", data=dict, blocks=list, findings=lambda: twice)
    entries = json.loads(codequality.render(report))
    assert len({each["fingerprint"] for each in entries}) == 2
    assert entries[0]["fingerprint"] == json.loads(codequality.render(report))[0]["fingerprint"]


HOSTILE = "a\x1b]0;t\x07\x9b31m\x7f\u202egnp\u2028\nb\tc\r"
ESCAPED = "a\\x1b]0;t\\x07\\x9b31m\\x7f\\u202egnp\\u2028\\nb\\tc\\r"
HOSTILE_REPORT = Report(
    "test",
    data=lambda: {"name": HOSTILE},
    blocks=lambda: [
        HOSTILE,
        Table((HOSTILE, "x"), [(HOSTILE, "1")], title=HOSTILE),
        Table((HOSTILE, "x"), [(HOSTILE, "1")], title=HOSTILE, matrix=True),
        Table((HOSTILE, "x"), [(HOSTILE, "1")], grouped=True),
        Details(HOSTILE, [(HOSTILE, [HOSTILE])]),
        Items(HOSTILE, [HOSTILE]),
    ],
    findings=lambda: [
        Finding(
            error(HOSTILE, HOSTILE, HOSTILE),
            HOSTILE,
            HOSTILE,
            locations=[Location(HOSTILE, 1, HOSTILE, HOSTILE)],
            fingerprint=("key/v1", HOSTILE),
        )
    ],
)


@pytest.mark.parametrize("form", Format)
def test_no_format_lets_anything_through_that_is_not_printable(form: Format) -> None:
    out = str(import_module(f"multiarch.cli.formats.{form}").render(HOSTILE_REPORT))
    assert out.replace("\r\n" if form is Format.CSV else "\n", "").isprintable()
    if form in (Format.JSON, Format.SARIF, Format.CODEQUALITY):
        assert "\\u202e" in out
    else:
        assert (ESCAPED.replace("\\", "\\\\") if form is Format.MARKDOWN else ESCAPED).partition("]")[0] in out
    if form is Format.JSON:
        assert json.loads(out)["name"] == HOSTILE


MARKUP = st.text(st.sampled_from("ab 1.-+=*_`~#|<>[]()!&;$\\\n\t\x1b\u202e\u2028\"'/:")) | st.text()


@given(MARKUP)
@example("    code")
@example("1) a")
@example("- - -")
@example("<!-- a -->")
def test_a_reader_of_markdown_sees_the_text_of_others_as_text(text: str) -> None:
    shown = escape_markdown(text)
    assert shown.isprintable()
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(f"{shown}\n")
    inline = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert {child.type for child in inline} <= {"text", "text_special"}
    assert "".join(child.content for child in inline).strip() == escape_terminal(text).strip()
    row = MarkdownIt("commonmark").enable("table").parse(f"| a | b |\n| --- | --- |\n| {shown} | c |\n")
    assert [token.content for token in row if token.type == "inline"][3:] == ["c"]


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_json_is_printable_and_is_read_back(value: object) -> None:
    text = format_json(value)
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == value
