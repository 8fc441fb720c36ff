"""Deadlines, and how long to wait between attempts."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime


class Deadline:
    """Seconds that are left. Waiting in a queue of one's own does not count: see ``paused``."""

    def __init__(self, seconds: float) -> None:
        """Start now."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, 0 at the least."""
        return max(0.0, self._end - time.monotonic())

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Let the time inside not count."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._end += time.monotonic() - started


def backoff(attempt: int, first: float) -> float:
    """Seconds to wait after attempt 0, 1, …: twice as long each time, half of it by chance.

    Chance keeps a thousand clients from coming back in the same moment.
    """
    longest = first * 2.0**attempt
    return longest / 2 + random.uniform(0, longest / 2)  # noqa: S311 (not for secrets)


def retry_after(header: str | None, now: float) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, from ``now`` (Unix time), or None.

    It is a number of seconds or a date (RFC 9110, section 10.2.3).
    """
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None
