"""The webhook's log: one line of JSON per entry.

Lines are queued and written by a thread, so that a slow reader of the log delays no review; lines that it can't keep up
with are dropped and counted.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from logging.handlers import QueueHandler, QueueListener

LINES_PER_SECOND = 500
"""Maximum; more are dropped and counted, unless the level is ``debug``."""
_MAXIMUM_WAITING = 10_000
"""Lines that wait to be written."""
_CLOSE_SECONDS = 1.0
_DELETE = "\x7f"


class LogLevel(StrEnum):
    """How important a line is, in ascending order: the names of logging's levels."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def number(self) -> int:
        """Logging's number."""
        return logging.getLevelNamesMapping()[self.upper()]


class Log(QueueHandler):
    """Writes lines to a file descriptor in the background.

    ``dropped`` is told of lines that are not written: the reason ``rate-limit`` or ``write-error``, and how many.
    """

    def __init__(
        self,
        level: LogLevel = LogLevel.INFO,
        *,
        descriptor: int = 2,
        dropped: Callable[[str, int], None] = lambda _reason, _lines: None,
    ) -> None:
        """Start the thread."""
        self._waiting: queue.Queue[logging.LogRecord] = queue.Queue(_MAXIMUM_WAITING)
        super().__init__(self._waiting)
        self.setLevel(level.number)
        self._dropped = dropped
        self._second, self._room = 0, 0
        self._ended = False
        self._listener = QueueListener(self._waiting, _Writer(descriptor, dropped))
        self._listener.start()

    def shows(self, level: LogLevel) -> bool:
        """Return whether lines of this level are written."""
        return level.number >= self.level

    def write(self, level: LogLevel, message: str, **fields: object) -> bool:
        """Queue a line. Values are strings, numbers, flags and sequences of strings. Return whether it is written."""
        record = logging.LogRecord("", level.number, "", 0, message, None, None)
        record.fields = fields
        if not self.shows(level) or not self._has_room(record.created):
            return False
        self.enqueue(record)
        return True

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Keep of a library's record what is shown: its message, and the class of its error."""
        fields: dict[str, object] = {"logger": record.name}
        if record.exc_info and (error := record.exc_info[1]) is not None:
            # Not its message: it may quote what a client sent.
            fields["error"] = type(error).__name__
        kept = logging.LogRecord("", record.levelno, "", 0, record.getMessage(), None, None)
        kept.fields = fields
        return kept

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a library's record: clients can cause some of them as often as they like."""
        if self._has_room(record.created):
            super().emit(record)

    def enqueue(self, record: logging.LogRecord) -> None:
        """Queue a record, or count it as dropped."""
        try:
            self._waiting.put_nowait(record)
        except queue.Full:
            self._dropped("write-error", 1)

    def close(self) -> None:
        """Write what waits, for at most a second. Later lines are lost. The end of the process calls it again."""
        super().close()
        if self._ended:
            return
        self._ended = True
        stopping = threading.Thread(target=self._stop, daemon=True)
        stopping.start()
        stopping.join(_CLOSE_SECONDS)

    def _stop(self) -> None:
        self._waiting.join()
        self._listener.stop()

    def _has_room(self, now: float) -> bool:
        if self.level <= logging.DEBUG:
            return True
        if int(now) != self._second:
            self._second, self._room = int(now), LINES_PER_SECOND
        self._room -= 1
        if self._room < 0:
            self._dropped("rate-limit", 1)
        return self._room >= 0


class _Writer(logging.Handler):
    """Writes records to a file descriptor. Only the listener's thread uses it, so it needs no lock."""

    def __init__(self, descriptor: int, dropped: Callable[[str, int], None]) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._dropped = dropped

    def createLock(self) -> None:  # noqa: N802 (logging's name)
        # The end of the process would wait for the lock while nobody reads the log.
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = _json(
            {"time": when, "level": record.levelname.lower(), "message": record.msg, **record.__dict__["fields"]}
        )
        rest = memoryview(f"{line}\n".encode(errors="replace"))
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self._dropped("write-error", 1)


def _json(fields: Mapping[str, object]) -> str:
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    if text.isprintable():
        return text
    # Other than ASCII is escaped then, and so is what steers a terminal or reorders text.
    return json.dumps(fields, separators=(",", ":")).replace(_DELETE, "\\u007f")
