"""Run one Pulumi command so that it can be stopped at any time and leaves nothing behind."""

from __future__ import annotations

import contextlib
import io
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from sandbox.processes import stop_session

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
GRACE = 60
"""Seconds that the engine gets, after Ctrl-C, to finish the calls that are under way and to write its state."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_WARNING = "    warning: "
# Every command refreshes first (options.refresh in Pulumi.yaml), with two similar lines for each resource.
_LOOKED_AT = re.compile(r"^ ~  \S+ \S+ refresh(?:ing)?(?: warning: .*)?\s*$")
_UNCHANGED = re.compile(r"^ {4}\S+:\S+ \S+(?: running)?\s*$")
_SAID_AGAIN = re.compile(r"^.{4}\s*\w+:\S+:\S+ \S+ .*?\b(?:warning|error): ")  # below "Diagnostics:"
_AT_WORK = re.compile(r"@ \S.*\.\.\s*$")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. ``lines`` is its output without colours; ``interrupted``: a signal stopped it."""

    returncode: int
    lines: tuple[str, ...]
    interrupted: bool

    def section(self, title: str) -> tuple[str, ...]:
        """Return the indented lines below ``title:`` (``Resources``, ``Outputs``, ``Diagnostics``)."""
        try:
            start = self.lines.index(f"{title}:") + 1
        except ValueError:
            return ()
        found = []
        for line in self.lines[start:]:
            if line and not line.startswith(" "):
                break
            found.append(line)
        return tuple(line for line in found if line.strip())


def run(
    command: Sequence[str | Path],
    *,
    environ: Mapping[str, str],
    folder: Path,
    log: Path,
    echo: Callable[[str], None] | None = None,
    say: Callable[[str], None] = lambda _text: None,
) -> CommandResult:
    """Run ``command`` in ``folder`` to its end, write what it says to ``log``, and to ``echo`` line by line.

    Must run in the main thread, as it handles signals meanwhile. When it returns, no process that the command started
    is left, however it ended.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    process: subprocess.Popen[str] | None = None
    interrupted = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        """Tell the engine to stop at the next safe point; the second time, or when the time is up, kill it."""
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            say("stopping: Pulumi finishes what is under way; once more kills it, and what AWS has is then not known")
            signal.alarm(GRACE)
            if process is not None:
                # Calls to AWS that are under way end by themselves; only the engine is told.
                process.send_signal(signal.SIGINT)
        elif process is not None:
            process.kill()

    lines: list[str] = []
    with _handling(stop), log.open("wb", buffering=0) as sink:
        # A session of its own: Ctrl-C in a terminal reaches only this process, which passes it on once.
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        reader = threading.Thread(target=_read, args=(process.stdout, lines, sink, echo), daemon=True)
        try:
            reader.start()
            if interrupted:  # before there was a process
                process.send_signal(signal.SIGINT)
            process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            signal.alarm(0)
            # Providers and language hosts of an engine that was killed do not notice by themselves; they also hold
            # the pipe open.
            stop_session(process.pid, grace=5)
            if reader.is_alive():
                reader.join()
    return CommandResult(process.returncode, tuple(lines), interrupted)


def plain(line: str) -> str:
    """Return the line without colours."""
    return _COLOUR.sub("", line)


def is_told(line: str) -> bool:
    """Return whether a line of a preview, coloured or not, says more than the others."""
    text = plain(line)
    return not any(each.match(text) for each in (_LOOKED_AT, _AT_WORK, _UNCHANGED, _SAID_AGAIN))


def warnings(diagnostics: Sequence[str]) -> tuple[str, ...]:
    """Return the program's warnings, each once, without ``warning:`` before them."""
    found = (line.removeprefix(_WARNING) for line in diagnostics if line.startswith(_WARNING))
    return tuple(dict.fromkeys(found))


def _read(pipe: IO[str], lines: list[str], log: io.RawIOBase, echo: Callable[[str], None] | None) -> None:
    """Read to the end, whatever becomes of the copies: the command would die of a pipe that is not read."""
    with pipe:
        for raw in pipe:
            line = raw.rstrip("\n")
            bare = plain(line)
            lines.append(bare)
            with contextlib.suppress(OSError):  # a full disk
                log.write(f"{bare}\n".encode())
            try:
                if echo:
                    echo(line)
            except OSError:  # a terminal that is closed, `| head`
                echo = None


@contextlib.contextmanager
def _handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    # Under `nohup` SIGHUP is ignored, and must stay so.
    numbers = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextlib.contextmanager
def deaf() -> Iterator[None]:
    """Ignore signals during clean-up: it is short, and an interrupted one would leave processes behind."""
    with _handling(lambda _number, _frame: None):
        yield
