"""Trying again, waiting when told to, and leaving alone what is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import aiohttp

from multiarch.registry.answers import RefusalError
from multiarch.registry.endpoints import Endpoint
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.recent import Recent
from multiarch.registry.settings import RegistrySettings
from multiarch.registry.timing import Deadline, backoff
from multiarch.registry.transport import Errand

T = TypeVar("T")

_WORTH_TRYING_AGAIN = frozenset(
    {
        RegistryReason.RATE_LIMITED,
        RegistryReason.SERVER,
        RegistryReason.TIMEOUT,
        RegistryReason.TRUNCATED,
        RegistryReason.UNREACHABLE,
    }
)
_NOT_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


class Attempts:
    """Runs what asks a registry: mirrors in their order, then the origin; each with what is known of its host."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Nothing is known of any host."""
        self._settings = settings
        self._not_before: Recent[str, float] = Recent()
        self._down: Recent[str, tuple[float, RegistryError]] = Recent()

    async def run(
        self, errand: Errand, endpoints: Sequence[Endpoint], work: Callable[[Errand, Endpoint], Awaitable[T]]
    ) -> T:
        """The first result of ``work``. A mirror has one attempt and half of the time; the origin has the rest.

        Raises:
            RegistryError: what the last endpoint says, with the mirrors' reasons.
        """
        *mirrors, origin = endpoints
        failed = []
        for mirror in mirrors:
            own = Errand(errand.registry, errand.reference, Deadline(errand.deadline.left / 2))
            try:
                return await self._try(own, mirror, work, 0)
            except RegistryError as error:
                failed.append(f"{mirror.host}: {error.reason}")
        try:
            return await self._try(errand, origin, work, self._settings.retries)
        except RegistryError as error:
            if failed:
                raise errand.error(error.reason, f"{error.detail}; mirrors: {', '.join(failed)}", error.hint) from error
            raise

    async def _try(
        self, errand: Errand, endpoint: Endpoint, work: Callable[[Errand, Endpoint], Awaitable[T]], retries: int
    ) -> T:
        attempt = 0
        while True:
            await self._come_back_in_time(errand, endpoint.host)
            try:
                return await work(errand, endpoint)
            except RegistryError as error:
                if error.reason not in _WORTH_TRYING_AGAIN or attempt >= retries:
                    self._remember(endpoint.host, error)
                    raise
                wait = self._wait(error, endpoint.host, attempt)
                if wait >= errand.deadline.left:
                    self._remember(endpoint.host, error)
                    raise
                await asyncio.sleep(wait)
            attempt += 1

    def _wait(self, error: RegistryError, host: str, attempt: int) -> float:
        """Seconds until the next attempt. What a server asks for holds for everything that is asked of it."""
        wait = backoff(attempt, self._settings.backoff_seconds)
        asked = error.wait if isinstance(error, RefusalError) else None
        if asked is not None:
            wait += asked
            until = time.monotonic() + asked
            self._not_before.put(host, max(until, self._not_before.get(host) or 0.0))
        return wait

    def _remember(self, host: str, error: RegistryError) -> None:
        if isinstance(error.__cause__, _NOT_CONNECTED) and error.reason is RegistryReason.UNREACHABLE:
            self._down.put(host, (time.monotonic() + self._settings.down_seconds, error))

    async def _come_back_in_time(self, errand: Errand, host: str) -> None:
        until, error = self._down.get(host) or (0.0, None)
        if error is not None and time.monotonic() < until:
            raise errand.error(error.reason, error.detail, error.hint)
        wait = (self._not_before.get(host) or 0.0) - time.monotonic()
        if wait <= 0:
            return
        if wait >= errand.deadline.left:
            raise errand.error(RegistryReason.RATE_LIMITED, f"{host} asks to come back in {wait:.0f} s")
        await asyncio.sleep(wait)
