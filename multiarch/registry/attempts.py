"""Retries and mirrors: which endpoint to query, and when to retry."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import aiohttp
from cachetools import LRUCache, TTLCache

from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.operation import Deadline, ReadOperation
from multiarch.registry.settings import REMEMBERED, RegistrySettings
from multiarch.retries import RetryPolicy

T = TypeVar("T")

_TEMPORARY = frozenset(
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
    """Runs an operation on the mirrors in order, then on the origin. Remembers which hosts are down or rate limited."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Start with nothing known of any host."""
        self._policy = RetryPolicy(settings.retries, settings.backoff_seconds)
        self._not_before: LRUCache[str, float] = LRUCache(REMEMBERED)
        self._down: TTLCache[str, RegistryError] = TTLCache(REMEMBERED, ttl=settings.down_seconds)

    async def run(self, operation: ReadOperation, work: Callable[[ReadOperation], Awaitable[T]]) -> T:
        """Return the first result of ``work``. A mirror gets one attempt and half the time left; the origin the rest.

        Raises:
            RegistryError: the origin's error, with the mirrors' reasons.
        """
        failed = []
        for mirror in operation.mirrors:
            deadline = Deadline(operation.deadline.left / 2, within=operation.deadline)
            try:
                return await self._try(replace(operation, endpoint=mirror, deadline=deadline), work, 0)
            except RegistryError as error:
                failed.append(f"{mirror.host}: {error.reason}")
        try:
            return await self._try(operation, work, self._policy.retries)
        except RegistryError as error:
            if failed:
                detail = f"{error.detail}; mirrors: {', '.join(failed)}"
                made = RegistryError(
                    error.reason, detail, operation.reference, error.hint, retry_after=error.retry_after
                )
                raise made from error
            raise

    async def _try(self, operation: ReadOperation, work: Callable[[ReadOperation], Awaitable[T]], retries: int) -> T:
        attempt, host = 0, operation.endpoint.host
        while True:
            await self._wait_for(operation, host)
            try:
                return await work(operation)
            except RegistryError as error:
                retried = error.reason in _TEMPORARY and attempt < retries
                wait = self._wait(error, host, attempt) if retried else 0.0
                if not retried or wait >= operation.deadline.left:
                    self._remember(host, error)
                    raise
                await asyncio.sleep(wait)
            attempt += 1

    def _wait(self, error: RegistryError, host: str, attempt: int) -> float:
        """Return seconds until the next attempt. A Retry-After holds for all requests to its host."""
        if error.retry_after is not None:
            self._not_before[host] = max(time.monotonic() + error.retry_after, self._not_before.get(host, 0.0))
        return self._policy.wait(attempt, error.retry_after)

    def _remember(self, host: str, error: RegistryError) -> None:
        if isinstance(error.__cause__, _NOT_CONNECTED) and error.reason is RegistryReason.UNREACHABLE:
            self._down[host] = error

    async def _wait_for(self, operation: ReadOperation, host: str) -> None:
        error = self._down.get(host)
        if error is not None:
            raise operation.error(error.reason, error.detail, error.hint)
        wait = self._not_before.get(host, 0.0) - time.monotonic()
        if wait <= 0:
            return
        if wait >= operation.deadline.left:
            raise operation.error(RegistryReason.RATE_LIMITED, f"{host} says to retry in {wait:.0f} s")
        await asyncio.sleep(wait)
