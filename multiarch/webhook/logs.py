"""The webhook's log: one line per entry, JSON for collectors or plain text for terminals.

Lines are queued and written by a thread, so that a slow reader of the log delays no review; lines that it can't keep up
with are dropped and counted.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec

from multiarch.escaping import escaped
from multiarch.webhook.log_options import LogFormat, LogLevel

_FLUSH_SECONDS = 0.1
_MOST_WAITING = 10_000
"""Lines that wait to be written."""
_CLOSE_SECONDS = 1.0
_REPEAT_SECONDS = 1.0
_MOST_MESSAGES = 1000
_DELETE = "\x7f"


_NUMBERS = {level: number for number, level in enumerate(LogLevel)}


class Log:
    """Writes lines to a file descriptor in the background. ``dropped`` is told of lines that are not written."""

    def __init__(
        self,
        style: LogFormat = LogFormat.JSON,
        level: LogLevel = LogLevel.INFO,
        *,
        descriptor: int = 2,
        dropped: Callable[[int], None] = lambda _lines: None,
    ) -> None:
        """Start the thread."""
        self._least = _NUMBERS[level]
        self._encode = _json if style is LogFormat.JSON else _text
        self._descriptor = descriptor
        self._dropped = dropped
        self._waiting: deque[bytes] = deque()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def shows(self, level: LogLevel) -> bool:
        """Whether lines of this level are written."""
        return _NUMBERS[level] >= self._least

    def write(self, level: LogLevel, message: str, **fields: object) -> None:
        """Queue a line. Values are strings, numbers, flags and sequences of strings."""
        if not self.shows(level):
            return
        waiting = self._waiting
        if len(waiting) >= _MOST_WAITING:
            self._dropped(1)
            return
        waiting.append(self._encode({"time": _now(), "level": level, "message": message, **fields}))
        if len(waiting) == 1:
            self._wake.set()

    def close(self) -> None:
        """Write what waits, for at most a second. Later lines are lost."""
        self._closing.set()
        self._wake.set()
        self._thread.join(_CLOSE_SECONDS)

    def _write_all(self) -> None:
        closing = False
        while not closing:
            self._wake.wait()
            self._wake.clear()
            # Many lines in one call.
            closing = self._closing.wait(_FLUSH_SECONDS)
            # A line that is queued behind others does not wake this thread: it ends with an empty queue.
            while self._waiting:
                lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
                try:
                    _write(self._descriptor, b"".join(lines))
                except OSError:
                    self._dropped(len(lines))


@contextmanager
def library_logs(log: Log) -> Iterator[None]:
    """Write what Python's ``logging`` gets, from aiohttp and asyncio, to this log."""
    root = logging.getLogger()
    before = root.handlers, root.level
    root.handlers = [_Forward(log)]
    root.setLevel(logging.DEBUG if log.shows(LogLevel.DEBUG) else logging.WARNING)
    try:
        yield
    finally:
        root.handlers, root.level = before


class _Forward(logging.Handler):
    """Writes each message once a second at most: clients can cause some of them as often as they like."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log
        self._written: dict[tuple[str, object], tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, object] = {"logger": record.name}
        if record.exc_info and (error := record.exc_info[1]) is not None:
            # Not its message: it may quote what a client sent.
            fields["error"] = type(error).__name__
        key = str(record.msg), fields.get("error")
        last, suppressed = self._written.get(key, (-_REPEAT_SECONDS, 0))
        if record.created - last < _REPEAT_SECONDS:
            self._written[key] = last, suppressed + 1
            return
        if len(self._written) >= _MOST_MESSAGES:
            self._written.clear()
        self._written[key] = record.created, 0
        if suppressed:
            fields["suppressed"] = suppressed
        if record.levelno >= logging.ERROR:
            level = LogLevel.ERROR
        elif record.levelno >= logging.WARNING:
            level = LogLevel.WARNING
        else:
            level = LogLevel.INFO if record.levelno >= logging.INFO else LogLevel.DEBUG
        self._log.write(level, record.getMessage(), **fields)


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json(fields: Mapping[str, object]) -> bytes:
    line = msgspec.json.encode(fields)
    if line.isascii() and b"\x7f" not in line:
        return line + b"\n"
    text = line.decode()
    if not text.isprintable():
        # Other than ASCII is escaped then, and so is what steers a terminal or reorders text.
        text = json.dumps(fields, separators=(",", ":")).replace(_DELETE, "\\u007f")
    return f"{text}\n".encode()


def _text(fields: Mapping[str, object]) -> bytes:
    shown = dict(fields)
    head = f"{shown.pop('time')} {str(shown.pop('level')).upper()} {escaped(str(shown.pop('message')))}"
    rest = " ".join(f"{name}={_shown(value)}" for name, value in shown.items() if value not in ("", (), None))
    return f"{head} {rest}\n".encode() if rest else f"{head}\n".encode()


def _shown(value: object) -> str:
    text = ",".join(value) if isinstance(value, list | tuple) else str(value)
    return json.dumps(text) if " " in text or '"' in text or not text.isprintable() else text
