"""How tables share the width of a terminal out among their columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.cli.formats import Format, print_report
from multiarch.cli.formats.report import Items, Report, Table
from tests.cli.running import print_table

NAME = "general-arm64-on-demand"


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)  # what is no terminal has room for everything
    monkeypatch.setenv("TERM", "xterm")


def printed_at(capsys: pytest.CaptureFixture[str], columns: int, *rows: tuple[str, ...]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setattr("sys.stdout.isatty", lambda: True)
        print_table(("group", "reason"), rows)
    return capsys.readouterr().out


def test_columns_count_in_a_pipe_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    reason = "there is no room left on the nodes that are there, and no other group tolerates what the pod asks for"
    print_table(("group", "reason"), [(NAME, reason)])
    assert f" {NAME}   {reason}" in capsys.readouterr().out.splitlines()
    monkeypatch.setenv("COLUMNS", "60")
    print_table(("group", "reason"), [(NAME, reason)])
    print_report(Report("any", data=lambda: None, blocks=lambda: [reason]), Format.TABLE)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_names_stay_whole_and_sentences_fold_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed_at(capsys, 50, (NAME, "there is no room left on the nodes that are there"), ("a", "b"))
    assert out.splitlines()[2:] == [
        f" {NAME}   there is no room left",
        f"{' ' * 27}on the nodes that are",
        f"{' ' * 27}there",
        f" a{' ' * 25}b",
    ]


def test_where_there_is_no_room_a_cell_goes_below_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    rejected = "does not tolerate payments.example.com/workload=batch:NoSchedule"
    out = printed_at(capsys, 60, (NAME, rejected), ("a", "b"))
    assert out.splitlines()[2:] == [
        f" {NAME}",
        "  REASON: does not tolerate",
        "    payments.example.com/workload=batch:NoSchedule",
        " a" + " " * 25 + "b",
    ]


def test_one_long_name_makes_a_list_of_its_own_row_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "60")
        patch.setattr("sys.stdout.isatty", lambda: True)
        rows = [("subnets.eu-west-1a.with-a-long-name", "subnet-0aaaaaaaaaaaaaaa1", "x"), ("region", "eu-west-1", "y")]
        print_table(("key", "value", "from"), [*rows, ("version", "1.35", "the-default")])
    assert capsys.readouterr().out.splitlines()[2:] == [
        " subnets.eu-west-1a.with-a-long-name",
        "  VALUE: subnet-0aaaaaaaaaaaaaaa1",
        "  FROM: x",
        " region    eu-west-1   y",
        " version   1.35        the-default",
    ]


def test_a_column_that_is_mostly_too_long_goes_below_its_rows_as_a_whole(capsys: pytest.CaptureFixture[str]) -> None:
    long = "there is no room left on the nodes that are there, " * 5
    out = printed_at(capsys, 80, (NAME, long), ("a", long), ("b", "short"))
    assert "GROUP" in out.splitlines()[0]
    assert "REASON" not in out.splitlines()[0]
    assert "  REASON: short" in out.splitlines()
    assert len(out.splitlines()) < 20


@given(columns=st.integers(10, 120), words=st.lists(st.text("abc-/", min_size=1, max_size=60), min_size=1, max_size=8))
def test_nothing_is_lost_at_any_width(columns: int, words: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setenv("COLUMNS", str(columns))
        patch.setattr("typer.echo", lambda text, **_: printed.append(text))
        print_table(("A", "B"), [("", " ".join(words))])
    lines = "".join(printed).splitlines()[2:]
    assert "".join("".join(lines).split()).removeprefix("B:") == "".join(words)
    assert all(len(line) <= columns or len(line.split()) == 1 for line in lines)  # the head is in bold


def test_a_word_that_is_longer_than_a_line_is_whole_so_that_it_can_be_copied(
    capsys: pytest.CaptureFixture[str],
) -> None:
    image = f"111122223333.dkr.ecr.eu-west-1.amazonaws.com/payments/settlement-worker@sha256:{'0123456789abcdef' * 4}"
    out = printed_at(capsys, 80, (image, f"no linux/arm64 in {image}"))
    lines = [line for line in out.splitlines() if "GROUP" not in line]
    assert [len(line) > 80 for line in lines] == [False, True, False, True]
    assert out.split().count(image) == 2


def test_columns_of_a_matrix_that_have_no_room_are_below_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    name, group = "platform-security-operations/node-local-vulnerability-scanner-agent", "general-amd64-on-demand"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setattr("sys.stdout.isatty", lambda: True)
        matrix = Table(("DaemonSet", "web", group, f"{group}-2"), [(name, "runs", "runs", "unknown")], matrix=True)
        print_report(Report("test", data=dict, blocks=lambda: [matrix]), Format.TABLE)
    lines = [
        line.replace("\x1b[32m", "").replace("\x1b[33m", "").replace("\x1b[0m", "")
        for line in capsys.readouterr().out.splitlines()
    ]
    assert lines[2] == f" {name}   runs"
    assert lines[-3:] == [f" {name}", f"  {group}: runs", f"  {group}-2: unknown"]


def test_numbers_stand_for_the_columns_of_a_matrix_that_has_no_room_for_their_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = Table(("DaemonSet", "1 general (amd64)", "2 graviton (arm64)"), [("agent", "runs", "runs")], matrix=True)
    for columns, head in ((80, ["DaemonSet   1 general (amd64)   2 graviton (arm64)"]), (40, ["DaemonSet   1      2"])):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_report(Report("test", data=dict, blocks=lambda: [matrix]), Format.TABLE)
        lines = capsys.readouterr().out.splitlines()
        assert [line.strip() for line in lines if "DaemonSet" in line] == head


def test_lines_of_text_break_between_words_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "40")
        patch.setattr("sys.stdout.isatty", lambda: True)
        notes = Items("Assumed", ["a node of general runs the controller of the autoscaler"])
        print_report(Report("test", data=dict, blocks=lambda: ["word " * 20, notes]), Format.TABLE)
    assert capsys.readouterr().out.splitlines() == [
        " ".join(["word"] * 8),
        " ".join(["word"] * 8),
        " ".join(["word"] * 4),
        "",
        "Assumed",
        "- a node of general runs the controller",
        "  of the autoscaler",
    ]
