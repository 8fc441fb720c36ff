"""The same question at the same time is asked once."""

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
    """Runs one coroutine per key; everybody who asks meanwhile gets its result, or its error."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Wait for ``work``, or for what runs already under ``key``.

        Who is cancelled does not disturb the others; when nobody waits any more, the work is cancelled.
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
                self._landed(key, flight)
                flight.task.cancel()

    def _start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        flight = self._flights[key] = _Flight(asyncio.create_task(work()))
        flight.task.add_done_callback(lambda _: self._landed(key, flight))
        return flight

    def _landed(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
