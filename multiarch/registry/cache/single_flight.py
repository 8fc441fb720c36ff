"""Run the same request once for all callers that wait for it at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Runs one coroutine per key; concurrent callers share its result or its error."""

    def __init__(self) -> None:
        """Start with nothing running."""
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Wait for ``work``, or for what already runs under ``key``.

        A cancelled caller does not affect the others; the work is cancelled when its last caller is.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._start(key, work)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._finished(key, flight)
                flight.task.cancel()

    def _start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        flight = self._flights[key] = _Flight(asyncio.create_task(work()))
        flight.task.add_done_callback(lambda _: self._finished(key, flight))
        return flight

    def _finished(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
