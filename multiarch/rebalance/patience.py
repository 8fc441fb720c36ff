"""Asking again while an API server is away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from multiarch.kubernetes.errors import ClusterError, ForbiddenError
from multiarch.rebalance.clock import Clock

Done = TypeVar("Done")
OUTAGE_SECONDS = 120.0
"""How long a run waits for an API server that does not answer."""
_PAUSE_SECONDS = 2.0
_FORBIDDEN_SECONDS = 15.0
"""How long a refusal for lack of rights is asked about again: an API server that starts has not read all roles yet."""
_SERVER_FAULT = 500


@dataclass(frozen=True, slots=True)
class Patience:
    """Asks again for so many ``seconds``. ``to_the_end``: also if the run is to stop."""

    clock: Clock
    seconds: float = OUTAGE_SECONDS
    to_the_end: bool = False

    def do(self, call: Callable[[], Done]) -> Done:
        """The result of ``call``. Raises ClusterError if it can't be had in time.

        A refusal for lack of rights is raised after 15 seconds, any other at once.
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
