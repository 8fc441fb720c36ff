"""One operation of the client: what it is for, and its deadline."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import Reference


class Deadline:
    """A time limit in seconds. Time spent in the client's own queue does not count: see ``queued``."""

    def __init__(self, seconds: float = math.inf, *, within: Deadline | None = None) -> None:
        """Start now. It ends with ``within`` at the latest."""
        self.seconds = seconds
        self._within = within
        self._end = time.monotonic() + seconds
        self._queued = self._sent = self._own_sent = 0
        self._stopped: float | None = None

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        now = time.monotonic() if self._stopped is None else self._stopped
        own = max(0.0, self._end - now)
        return own if self._within is None else min(own, self._within.left)

    def check(self) -> None:
        """Raise TimeoutError after the end: for work that does not wait."""
        if time.monotonic() > self._end:
            raise TimeoutError

    @contextmanager
    def queued(self) -> Iterator[None]:
        """Stop the clock inside this context. That of ``within`` goes on while requests of others are ``sent``."""
        sent = self._own_sent
        self._count(queued=1, sent=-sent)
        try:
            yield
        finally:
            self._count(queued=-1, sent=sent)

    @contextmanager
    def sent(self) -> Iterator[None]:
        """Count a request; before its end, one to a token server may be ``queued``."""
        self._own_sent += 1
        self._count(sent=1)
        try:
            yield
        finally:
            self._own_sent -= 1
            self._count(sent=-1)

    def _count(self, *, queued: int = 0, sent: int) -> None:
        now = time.monotonic()
        if self._stopped is not None:
            self._end += now - self._stopped
        self._queued += queued
        self._sent += sent
        self._stopped = now if self._queued and not self._sent else None
        if self._within is not None:
            self._within._count(queued=queued, sent=sent)  # noqa: SLF001 (the same class)


@dataclass(slots=True)
class Requests:
    """How many requests were sent."""

    sent: int = 0


_ONE_IMAGE: ContextVar[list[Deadline] | None] = ContextVar("one_image", default=None)
_REQUESTS: ContextVar[Requests | None] = ContextVar("requests", default=None)


@contextmanager
def one_image() -> Iterator[None]:
    """Give all operations inside one deadline, with the seconds of the first, and count their requests together.

    For the requests of one image. Not a bound for work that does not wait: :func:`time_limit` is.
    """
    token, counted = _ONE_IMAGE.set([]), _REQUESTS.set(Requests())
    try:
        yield
    finally:
        _ONE_IMAGE.reset(token)
        _REQUESTS.reset(counted)


def new_deadline(seconds: float) -> Deadline:
    """The deadline of an operation: within that of the image, if it is one of several for :func:`one_image`."""
    image = _ONE_IMAGE.get()
    if image is None:
        return Deadline(seconds)
    if not image:
        image.append(Deadline(seconds))
    return Deadline(seconds, within=image[0])


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
    requests: Requests = field(default_factory=lambda: _REQUESTS.get() or Requests())

    def error(self, reason: RegistryReason, detail: str, hint: str | None = None) -> RegistryError:
        """An error of this operation; ``detail`` has no full stop."""
        return RegistryError(reason, detail, registry=self.registry, reference=self.reference, hint=hint)
