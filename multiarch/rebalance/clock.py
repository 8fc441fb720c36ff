"""Time, and the signals that end a run: it stops at the next safe point, and undoes what it did to nodes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import FrameType
from typing import TypeVar

from multiarch.kubernetes.errors import ClusterError, ForbiddenError

Done = TypeVar("Done")
OUTAGE_SECONDS = 120.0
"""How long a run waits for an API server that does not answer."""
_PAUSE_SECONDS = 2.0
_FORBIDDEN_SECONDS = 15.0
"""How long a request without sufficient rights is retried: an API server that starts has not read all roles yet."""
_SERVER_FAULT = 500


class Clock:
    """The system's clock. ``signal`` is the number of the signal that stopped the run, or None."""

    def __init__(self) -> None:
        """No request has been made yet."""
        self.signal: int | None = None
        self._stop = threading.Event()

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)

    def elapsed(self) -> float:
        """Return seconds since some moment, those in which the system was suspended too: a Lease ends meanwhile."""
        return time.clock_gettime(_COUNTS_SUSPENSION)

    def wait(self, seconds: float) -> bool:
        """Wait for so long, and say whether the run is to stop; at once if it is."""
        return self._stop.wait(max(0.0, seconds))

    def sleep(self, seconds: float) -> None:
        """Wait for so long, also if the run is to stop."""
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


@dataclass(frozen=True, slots=True)
class Patience:
    """Retries for up to ``seconds``. ``to_the_end``: also if the run is to stop."""

    clock: Clock
    seconds: float = OUTAGE_SECONDS
    to_the_end: bool = False

    def do(self, call: Callable[[], Done]) -> Done:
        """Return the result of ``call``. Raises ClusterError if it can't be had in time.

        A rejection for lack of rights is raised after 15 seconds, any other at once.
        """
        began = self.clock.elapsed()
        while True:
            try:
                return call()
            except ClusterError as error:
                if self.clock.elapsed() >= began + self._seconds_for(error):
                    raise
                if self.to_the_end:
                    self.clock.sleep(_PAUSE_SECONDS)
                elif self.clock.wait(_PAUSE_SECONDS):
                    raise

    def _seconds_for(self, error: ClusterError) -> float:
        if error.status is None or error.status >= _SERVER_FAULT:
            return self.seconds
        return _FORBIDDEN_SECONDS if isinstance(error, ForbiddenError) else 0.0
