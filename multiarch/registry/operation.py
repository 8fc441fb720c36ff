"""One operation of the client: what it is for, and its deadline."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from multiarch.registry.errors import RegistryError, RegistryReason


class Deadline:
    """A time limit in seconds. Time spent in the client's own queue does not count: see ``paused``."""

    def __init__(self, seconds: float) -> None:
        """Start now."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Stop the clock inside this context."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._end += time.monotonic() - started


@dataclass(frozen=True, slots=True)
class Operation:
    """Reading one manifest, one blob or one page of tags, with all its requests: tokens, redirects, retries.

    ``registry`` and ``reference`` are named in errors.
    """

    registry: str
    reference: str
    deadline: Deadline

    def error(self, reason: RegistryReason, detail: str, hint: str | None = None) -> RegistryError:
        """An error of this operation; ``detail`` has no full stop."""
        return RegistryError(reason, detail, registry=self.registry, reference=self.reference, hint=hint)
