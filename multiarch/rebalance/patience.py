"""Asking again while an API server is away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from multiarch.kubernetes.errors import ClusterError
from multiarch.rebalance.clock import Clock

Done = TypeVar("Done")
OUTAGE_SECONDS = 120.0
"""How long a run waits for an API server that does not answer."""
_PAUSE_SECONDS = 2.0
_SERVER_FAULT = 500


@dataclass(frozen=True, slots=True)
class Patience:
    """Asks again for so many ``seconds``. ``to_the_end``: also if the run is to stop."""

    clock: Clock
    seconds: float = OUTAGE_SECONDS
    to_the_end: bool = False

    def do(self, call: Callable[[], Done]) -> Done:
        """The result of ``call``. Raises ClusterError if it can't be had in time, and for a refusal at once."""
        end = self.clock.elapsed() + self.seconds
        while True:
            try:
                return call()
            except ClusterError as error:
                refused = error.status is not None and error.status < _SERVER_FAULT
                if refused or self.clock.elapsed() >= end:
                    raise
                if self.to_the_end:
                    self.clock.sleep(_PAUSE_SECONDS)
                elif self.clock.wait(_PAUSE_SECONDS):
                    raise
