"""A Redis or Valkey that may be away, slow or something else at any time, and costs a look-up little then."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from redis.asyncio import Redis
from redis.asyncio.connection import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from multiarch.errors import MultiarchError
from multiarch.files import read_text

ANSWER_SECONDS = 0.05
"""The most seconds to wait for an answer; after one that is late, nothing is asked until a test succeeds."""
CONNECT_SECONDS = 2.0
PAUSE_SECONDS = 2.0
"""Seconds between two tests of a server that failed."""
CONNECTIONS = 16
_URL_LIMIT = 10_000

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class SharedCacheError(MultiarchError):
    """The file with the URL of the shared cache can't be used. The message does not contain the URL."""


class RedisConnection:
    """Connections to the server whose URL is in ``file``. Use it with ``async with``, in one event loop.

    Nothing waits for the server to come back: it is tested in the background, with the URL as it is in the file then.
    """

    def __init__(self, file: Path) -> None:
        """Connect to nothing yet. Raises SharedCacheError."""
        self._file = file
        self._redis = _client(file)
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self._testing: asyncio.Task[None] | None = None
        self._told = False
        self.usable = False
        """Whether the server answered in time so far."""
        self.failures = 0
        """How often it did not."""

    async def __aenter__(self) -> Self:
        """Begin to connect."""
        self._test()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.usable = False
        if self._testing is not None:
            self._testing.cancel()
            await asyncio.gather(self._testing, return_exceptions=True)
        await _close(self._redis)

    async def run(self, work: Callable[[Redis], Awaitable[Result]]) -> Result | None:
        """The result of ``work``; None if there is none in time."""
        if not self.usable:
            return None
        async with self._slots:
            if not self.usable:
                return None
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    return await work(self._redis)
            except Exception as error:  # noqa: BLE001 (what is not Redis makes its client raise anything)
                self._failed(error)
                return None

    def distrust(self) -> None:
        """Count an answer that is not valid, and ask nothing until a test succeeds."""
        self._failed(ValueError())

    def _failed(self, error: Exception) -> None:
        self.failures += 1
        if self.usable:
            self.usable = False
            self._test()
        self._tell(error)

    def _test(self) -> None:
        self._testing = asyncio.get_running_loop().create_task(self._test_until_usable())

    async def _test_until_usable(self) -> None:
        first = True
        while True:
            if not first or self.failures:
                await asyncio.sleep(PAUSE_SECONDS)
            first = False
            try:
                await _close(self._redis)
                self._redis = _client(self._file)
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._redis.ping()
            except Exception as error:  # noqa: BLE001 (as above; the next test may succeed)
                self._tell(error)
            else:
                if self._told:
                    _log.warning("the shared cache answers again")
                self._told, self.usable = False, True
                return

    def _tell(self, error: Exception) -> None:
        """Log the first of several failures. Texts of errors may have parts of the URL: only their kind is named."""
        if not self._told:
            self._told = True
            _log.warning("the shared cache is not used until it answers again (%s)", type(error).__name__)


def _client(file: Path) -> Redis:
    try:
        url = read_text(file, _URL_LIMIT).strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SharedCacheError(f"cache.sharedUrlFile: {file} can't be read: {why}.") from error
    try:
        pool = ConnectionPool.from_url(
            url,
            socket_timeout=CONNECT_SECONDS,
            socket_connect_timeout=CONNECT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            retry_on_error=[],
            # Without the notifications of RESP3, which no one reads here.
            protocol=2,
        )
    except (ValueError, TypeError):
        hint = "Write it as rediss://:PASSWORD@HOST:6379/0."
        raise SharedCacheError(f"cache.sharedUrlFile: {file} does not have the URL of a Redis.", hint=hint) from None
    return Redis(connection_pool=pool)


async def _close(redis: Redis) -> None:
    with contextlib.suppress(Exception):  # a connection that is broken already
        await redis.aclose()
        await redis.connection_pool.disconnect()
