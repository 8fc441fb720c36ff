"""How tables share the width of a terminal out among their columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_names_stay_whole_and_sentences_fold_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed_at(capsys, 50, (NAME, "there is no room left on the nodes that are there"), ("a", "b"))
    assert out.splitlines()[2:] == [
        f" {NAME}   there is no room left",
        f"{' ' * 27}on the nodes that are",
        f"{' ' * 27}there",
        f" a{' ' * 25}b",
    ]


def test_where_there_is_no_room_the_longest_word_breaks_first(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed_at(capsys, 60, (NAME, "does not tolerate payments.example.com/workload=batch:NoSchedule"))
    assert NAME in out.split()
    assert "payments.example.com/workload=batch:NoSchedule" not in out
    assert "payments.example.com/workload=batch:NoSchedule" in "".join(out.split())


@given(columns=st.integers(10, 120), words=st.lists(st.text("abc-/", min_size=1, max_size=60), min_size=1, max_size=8))
def test_nothing_is_lost_at_any_width(columns: int, words: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setenv("COLUMNS", str(columns))
        patch.setattr("typer.echo", lambda text, **_: printed.append(text))
        print_table(("A", "B"), [("", " ".join(words))])
    lines = "".join(printed).splitlines()[2:]
    assert "".join("".join(lines).split()) == "".join(words)
    assert all(len(line) <= columns for line in lines)  # the head is in bold
