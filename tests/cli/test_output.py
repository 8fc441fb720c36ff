"""Tables and messages on a terminal and in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from multiarch.cli.terminal import print_message, show_error
from multiarch.errors import MultiarchError
from multiarch.escaping import escape_terminal
from tests.cli.running import print_table

DIGEST = f"sha256:{'0123456789abcdef' * 4}"
TABLE = f"""
from multiarch.cli.formats import Format, print_report
from multiarch.cli.formats.report import Report, Table
words = "a long reason of many words that has to be broken somewhere"
rows = [
    ("quay.io/team/application:v1", "{DIGEST}", "supported", words),
    ("quay.io/team/application:v2", "", "unsupported", words),
    ("quay.io/team/application:v3", "", "unknown", "unknown image"),
]
blocks = [Table(("image", "digest", "arm64", "reason"), rows)]
print_report(Report("test", data=dict, blocks=lambda: blocks), Format.TABLE)
"""


def on_a_terminal(code: str, width: int) -> str:
    ours, theirs = pty.openpty()
    environ = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    environ |= {"COLUMNS": str(width), "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[2])}
    with os.fdopen(ours, "rb", buffering=0) as reader:
        read = b""
        with subprocess.Popen([sys.executable, "-c", code], stdout=theirs, env=environ):
            os.close(theirs)
            while piece := _piece(reader.fileno()):
                read += piece
    return read.decode()


def _piece(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other side is closed
        return b""


@pytest.mark.parametrize("width", [60, 160])
def test_on_any_terminal_verdicts_have_colours_and_digests_and_names_are_whole(width: int) -> None:
    out = on_a_terminal(TABLE, width)
    for verdict, colour in (("supported", 32), ("unsupported", 31), ("unknown", 33)):
        assert f"\x1b[{colour}m{verdict}" in out
    assert DIGEST in out
    assert out.count("\x1b[3") == 3  # no other cell has one: "unknown image" is no verdict
    assert "quay.io/team/application:v1" in out
    assert " ".join(out.split()).count("somewhere") == 2


def test_in_a_pipe_nothing_is_coloured_or_narrow(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("reason", "arm64"), [("word " * 20 + "end", "supported")])
    assert capsys.readouterr().out.splitlines()[-1] == f" {'word ' * 20}end   supported"


def test_what_steers_a_terminal_is_shown_and_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "app\x1b]0;title\x07\x9b31m\rgone"
    print_table(("image",), [(evil,)])
    print_message(evil)
    show_error(MultiarchError(evil))
    captured = capsys.readouterr()
    harmless = "app\\x1b]0;title\\x07\\x9b31m\\rgone"
    assert captured.out.splitlines()[-1].strip() == harmless
    assert captured.err == f"{harmless}\nerror: {harmless}\n"
    assert escape_terminal("two\nlines\tand ünï") == "two\\nlines\\tand ünï"
    assert escape_terminal("\ud800") == "\\ud800"
