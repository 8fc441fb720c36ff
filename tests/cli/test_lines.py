"""Commands in messages run as they are printed, and messages read on a terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from multiarch.cli.application import build_application
from multiarch.cli.lines import make_runnable, wrap_lines
from multiarch.cli.terminal import print_command, show_problems, show_progress
from multiarch.errors import Problem
from tests.cli.running import type_of_run

HINT = "Run `multiarch stack pin`, then multiarch-eks deploys; docs/multiarch stack.md, multiarch-eks:owner."


def test_all_commands_are_known(program: Path) -> None:
    for noun in build_application().commands:
        assert make_runnable(f"multiarch {noun}", program).endswith(f"/.venv/bin/multiarch {noun}")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The command line in a virtual environment that is not on PATH."""
    file = tmp_path / "clone" / ".venv" / "bin" / "multiarch"
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_a_command_is_named_by_the_path_it_was_called_by(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(program.parents[2])
    monkeypatch.setattr("sys.argv", [".venv/bin/multiarch", "stack", "check"])
    assert make_runnable(HINT) == HINT.replace("`multiarch stack", "`.venv/bin/multiarch stack")
    assert make_runnable("multiarch audit images") == ".venv/bin/multiarch audit images"


def test_an_error_of_usage_names_a_command_that_runs(
    program: Path, monkeypatch: pytest.MonkeyPatch, run: type_of_run
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert "Try 'multiarch stack check -h'" in run("stack", "check", "--nope").err
    monkeypatch.setattr("sys.argv", [str(program)])
    assert f"Try '{program} stack check -h'" in run("stack", "check", "--nope").err


def test_a_path_is_quoted_for_the_shell(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    spaced = tmp_path / "a b"
    program.parents[2].rename(spaced)
    own = spaced / ".venv" / "bin" / "multiarch"
    assert make_runnable("multiarch facts refresh", own) == f"'{own}' facts refresh"


def test_a_command_on_path_is_named_as_documented(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), "/usr/bin"]))
    assert make_runnable(HINT) == HINT


@pytest.mark.parametrize("called", ["/usr/lib/python3/pytest", "gone/multiarch", ""])
def test_a_program_that_is_not_ours_or_gone_changes_nothing(called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [called])
    assert make_runnable(HINT) == HINT


def test_a_problem_is_broken_between_words_on_a_terminal_and_one_line_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = Problem("ami-not-pinned", "the image is not pinned. " * 12, file="stack.yaml", line=3, key="nodeGroups.a")
    show_problems([problem])
    (whole,) = capsys.readouterr().err.splitlines()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    show_problems([problem])
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line[:2] for line in lines] == ["wa", *["  "] * (len(lines) - 1)]
    assert " ".join(" ".join(lines).split()) == " ".join(whole.split())
    monkeypatch.delenv("NO_COLOR")
    show_problems([problem])
    assert capsys.readouterr().err.startswith("\x1b[33mwarning\x1b[0m: stack.yaml:3 ")
    command = "kubectl patch node -p " + "x " * 40
    print_command(command)
    assert capsys.readouterr().err == f"{command}\n"


def test_a_command_is_not_broken_where_a_line_has_room_for_it() -> None:
    text = "The image is not pinned. Run (`multiarch stack pin checkout-dev`). [ami-not-pinned]"
    assert list(wrap_lines(text, 40, others="  ")) == [
        "The image is not pinned. Run",
        "  (`multiarch stack pin checkout-dev`).",
        "  [ami-not-pinned]",
    ]
    assert max(map(len, wrap_lines(text, 24))) <= 24


@pytest.mark.parametrize(("in_bytes", "amount"), [(True, "1.5 MB of 3.0 MB"), (False, "1500000 of 3000000")])
def test_progress_shows_amounts_with_their_unit_and_none_before_they_are_known(
    in_bytes: bool,  # noqa: FBT001 (pytest passes it by name)
    amount: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress("reading images", in_bytes=in_bytes) as step:
        pass
    before = capsys.readouterr().err
    assert "reading" in before
    assert not any(word in before for word in ("? ", "images"))
    with show_progress("reading images", in_bytes=in_bytes) as step:
        step(1_500_000, 3_000_000)
    after = capsys.readouterr().err
    assert "reading images" in after
    assert amount in after
