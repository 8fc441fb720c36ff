"""One operation of the client: what it is for, and its deadline."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import Reference


class Deadline:
    """A time limit in seconds. Time spent in the client's own queue does not count: see ``paused``."""

    def __init__(self, seconds: float = math.inf) -> None:
        """Start now."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise TimeoutError after the end: for work that does not wait."""
        if time.monotonic() > self._end:
            raise TimeoutError

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Stop the clock inside this context."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._end += time.monotonic() - started


@asynccontextmanager
async def time_limit(reference: Reference, seconds: float) -> AsyncIterator[Deadline]:
    """End what reads an image after ``seconds``. Work that does not wait calls the deadline's ``check`` now and then.

    Raises:
        RegistryError: TIMEOUT, if it took longer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield Deadline(seconds)
    except TimeoutError as error:
        raise RegistryError(
            RegistryReason.TIMEOUT,
            f"reading the image did not finish within {seconds:g} s",
            registry=reference.registry,
            reference=str(reference),
        ) from error


@dataclass(frozen=True, slots=True)
class Operation:
    """Reading one manifest, one blob or one list of tags, with all its requests: tokens, redirects, retries.

    ``registry`` and ``reference`` are named in errors.
    """

    registry: str
    reference: str
    deadline: Deadline

    def error(self, reason: RegistryReason, detail: str, hint: str | None = None) -> RegistryError:
        """An error of this operation; ``detail`` has no full stop."""
        return RegistryError(reason, detail, registry=self.registry, reference=self.reference, hint=hint)
