"""The documents: their fenced blocks and markers, and the comparison of quoted output with real output.

Markers are HTML comments, which readers do not see:

- ``<!-- edit: FILE: OLD => NEW -->`` changes a file for the block that follows, and for that block only. ``…`` in OLD
  matches any string; NEW replaces what stands behind the last ``…``.
- ``<!-- engine: COMMAND -->`` before a block: what the sandbox prints for that command.
- ``<!-- registry: demo -->`` before a block: its commands query the registry of ``make registry-demo``.
- ``<!-- migration: WAY NUMBER -->`` before a block: see tests/migration_steps.py.
- ``<!-- NAME -->`` … ``<!-- end -->``: a part that is generated from the code, see tools/generate/documents.py.

In quoted output a line ``…`` matches any lines, and ``…`` within a line any string.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from multiarch.cli import main

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DAY = "1795219200"
"""2026-11-21, in seconds: support dates count as of that day, whenever the tests run."""

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_WITHOUT_ERRORS, _WITH_ERRORS = " 2>/dev/null", " 2>&1"
_SHELL = re.compile(r"[|&;<>$*?~`]")
_MARKER = re.compile(r"<!-- (?P<text>.*?) -->")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the line it begins in, and the markers directly before it."""

    language: str
    text: str
    line: int
    markers: tuple[str, ...]

    def marked(self, name: str) -> list[str]:
        """What stands behind ``name:`` in the block's markers."""
        return [marker.removeprefix(f"{name}: ") for marker in self.markers if marker.startswith(f"{name}: ")]


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        lines = text[: match.start()].rstrip("\n").split("\n")
        markers: list[str] = []
        while lines and (marker := _MARKER.fullmatch(lines[-1])):
            markers.insert(0, marker["text"])
            lines.pop()
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match["language"], match["text"], line, tuple(markers)))
    return found


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and the output quoted below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def matches(quoted: str, real: str) -> bool:
    """Whether ``real`` is what is quoted. Spaces at lines' ends don't count, and neither do empty lines."""
    pattern = ""
    for line in filter(str.strip, quoted.splitlines()):
        pattern += "(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + "\n"
    text = "".join(f"{line.rstrip()}\n" for line in real.splitlines() if line.strip())
    return re.fullmatch(pattern, text) is not None


def edited(text: str, change: str) -> str:
    """Return ``text`` with one change made, ``OLD => NEW``."""
    old, arrow, new = change.partition(" => ")
    assert arrow, change
    *before, last = old.split(" … ")
    start = 0
    for part in before:
        start = text.index(part, start)
    at = text.index(last, start)
    return text[:at] + new + text[at + len(last) :]


def environment() -> dict[str, str]:
    """As in a plain shell, which exports no COLUMNS, on a fixed day; the virtual environment's programs come first."""
    here = str(Path(sys.executable).parent)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "COLUMNS", "PULUMI_"))}
    path = os.pathsep.join([here, os.environ.get("PATH", os.defpath)])
    return kept | {"NO_COLOR": "1", "PATH": path, "SOURCE_DATE_EPOCH": DAY, "TERM": "dumb"}


def ran(command: str, folder: Path) -> str:
    """What a command prints in ``folder``, standard output and error as they come.

    Commands of ours run in this process, which spares the start of a Python; what needs a shell, or the rest of a
    pipe, gets one.
    """
    first, _, rest = command.partition(" | ")
    redirected = next((each for each in (_WITHOUT_ERRORS, _WITH_ERRORS) if first.endswith(each)), "")
    ours = first.removesuffix(redirected)
    if not ours.startswith("multiarch ") or _SHELL.search(ours):
        return _ran_by_bash(command, folder)
    joined = redirected == _WITH_ERRORS or (not rest and not redirected)
    printed, errors = _ran_here(shlex.split(ours, comments=True)[1:], folder, joined=joined)
    said = "" if redirected else errors
    return said + (_ran_by_bash(rest, folder, printed) if rest else printed)


def _ran_by_bash(command: str, folder: Path, given: str | None = None) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def _ran_here(arguments: list[str], folder: Path, *, joined: bool) -> tuple[str, str]:
    """What is written to standard output and to standard error; if they are joined, all to the first."""
    printed, errors = io.BytesIO(), io.StringIO()
    with (
        io.TextIOWrapper(printed, encoding="utf-8", write_through=True) as stream,
        mock.patch.dict(os.environ, environment(), clear=True),
        mock.patch.object(sys, "path", [*sys.path]),  # `stack render` puts its project first
        contextlib.chdir(folder),
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream if joined else errors),
    ):
        main(arguments)
        return printed.getvalue().decode(), errors.getvalue()
