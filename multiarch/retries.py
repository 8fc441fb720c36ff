"""When to send a failed request again: one policy for registries and for the API server."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Up to ``retries`` attempts after the first one. Waits are in seconds and never longer than ``longest_wait``."""

    retries: int
    first_wait: float
    longest_wait: float = math.inf

    def wait(self, attempt: int, requested: float | None = None) -> float:
        """Return seconds to wait after attempt 0, 1, …: ``first_wait``, doubled each time, half of it random.

        ``requested`` is what the server's Retry-After says; it comes on top. The random part keeps many clients from
        returning at the same moment.
        """
        backoff = self.first_wait * 2.0**attempt
        jittered = backoff / 2 + random.uniform(0, backoff / 2)  # noqa: S311 (not for secrets)
        return min((requested or 0.0) + jittered, self.longest_wait)


def retry_after(header: str | None, now: float) -> float | None:
    """Return the seconds in a ``Retry-After`` header, from ``now`` (Unix time); None if it can't be read.

    The header is a number of seconds or a date (RFC 9110, section 10.2.3).
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
