"""Our command line in a demo, which writes to a pipe while the reader has a terminal."""

from __future__ import annotations

import sys

import pytest

from sandbox.commands import run_multiarch
from tests.quotations import ROOT


def test_a_demo_is_as_wide_as_the_readers_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    shown: list[str] = []
    run_multiarch(["stack", "list"], ROOT, shown.append)  # standard output is a pipe here: 80 columns
    monkeypatch.setenv("COLUMNS", "150")
    run_multiarch(["stack", "list"], ROOT, shown.append)
    widths = [max(map(len, text.splitlines())) for text in shown if not text.startswith("$ ")]
    assert widths[0] <= 80 < widths[1] <= 150


def test_a_terminal_gets_messages_broken_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del capsys  # it gives a stdout that can be changed
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown: list[str] = []
    told = run_multiarch(["stack", "check", "nope"], ROOT, shown.append, wanted=2)
    assert max(map(len, told.splitlines())) > 40
    assert max(map(len, shown[1].splitlines())) <= 40
    assert shown[1].split() == told.split()
