"""Time, and the signals that end a run: it stops at the next safe point, and undoes what it did to nodes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import Protocol


class Clock(Protocol):
    """What a run knows of time."""

    def now(self) -> datetime:
        """The time in UTC."""
        ...

    def elapsed(self) -> float:
        """Seconds since some moment; never set back."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait, and say whether the run is to stop; at once if it is."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait, also if the run is to stop."""
        ...


class SystemClock:
    """The system's clock. ``signal`` is the number of the signal that asked the run to stop, or None."""

    def __init__(self) -> None:
        """Nothing has asked yet."""
        self.signal: int | None = None
        self._stop = threading.Event()

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    def elapsed(self) -> float:
        """Seconds since some moment, those in which the system was suspended too: a Lease ends meanwhile."""
        return time.clock_gettime(_COUNTS_SUSPENSION)

    def wait(self, seconds: float) -> bool:
        """Wait for a signal for so long."""
        return self._stop.wait(max(0.0, seconds))

    def sleep(self, seconds: float) -> None:
        """Wait for so long."""
        time.sleep(seconds)

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Take SIGTERM, SIGINT and SIGHUP as a request to stop; they do nothing more, so that nodes are uncordoned."""
        before = {each: signal.signal(each, self._asked) for each in _SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _asked(self, number: int, _: FrameType | None) -> None:
        self.signal = self.signal or number
        self._stop.set()


_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_COUNTS_SUSPENSION: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux has a clock of its own for that; elsewhere the monotonic clock does it."""
