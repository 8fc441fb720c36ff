"""How long a search may take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class TimeLimit:
    """A number of ``seconds`` from now on, infinite for no limit."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` says the time in seconds."""
        self._seconds = seconds
        self._clock = clock
        self._start = clock()

    @property
    def used(self) -> float:
        """The seconds since the start."""
        return self._clock() - self._start

    @property
    def left(self) -> float:
        """The seconds until the end, 0 after it."""
        return max(0.0, self._seconds - self.used)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return not self.left

    def share(self, part: float) -> TimeLimit:
        """A limit, from now on, of this part of the seconds that are left."""
        return TimeLimit(self.left * part, clock=self._clock)


NO_LIMIT = TimeLimit(math.inf)
