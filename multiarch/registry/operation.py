"""One operation of the client: what it is for, and its deadline."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from multiarch.registry.endpoints import Endpoint
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import Reference


class Deadline:
    """A time limit in seconds."""

    def __init__(self, seconds: float = math.inf, *, within: Deadline | None = None) -> None:
        """Start now. It ends with ``within`` at the latest."""
        self.seconds = seconds
        self._end = time.monotonic() + (seconds if within is None else min(seconds, within.left))

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise TimeoutError after the end: for work that does not wait."""
        if time.monotonic() > self._end:
            raise TimeoutError


@dataclass(slots=True)
class ImageRequests:
    """What the operations for one image share: their deadline, and how many requests were sent."""

    deadline: Deadline | None = None
    requests: int = 0


_IMAGE: ContextVar[ImageRequests | None] = ContextVar("image", default=None)


@contextmanager
def share_deadline() -> Iterator[None]:
    """Give all operations inside one deadline, with the seconds of the first, and count their requests together.

    For the requests of one image. Not a bound for work that does not wait: :func:`limit_time` is.
    """
    token = _IMAGE.set(ImageRequests())
    try:
        yield
    finally:
        _IMAGE.reset(token)


@asynccontextmanager
async def limit_time(reference: Reference, seconds: float) -> AsyncIterator[Deadline]:
    """End what reads an image after ``seconds``. Work that does not wait calls the deadline's ``check`` now and then.

    Raises:
        RegistryError: TIMEOUT, if it took longer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield Deadline(seconds)
    except TimeoutError as error:
        detail = f"reading the image did not finish within {seconds:g} s"
        raise RegistryError(RegistryReason.TIMEOUT, detail, reference) from error


@dataclass(frozen=True, slots=True)
class ReadOperation:
    """Reading one manifest, one blob or one list of tags, with all its requests: tokens, redirects, retries.

    ``reference`` says which, and is named in errors. ``endpoint`` is the server that is queried now: the origin, one of
    the ``mirrors``, a token server, or the target of a redirect.
    """

    reference: Reference
    endpoint: Endpoint
    mirrors: tuple[Endpoint, ...]
    deadline: Deadline
    image: ImageRequests

    @classmethod
    def start(cls, reference: Reference, endpoints: tuple[Endpoint, ...], seconds: float) -> ReadOperation:
        """Start an operation at ``endpoints``, the origin last.

        Its deadline is within that of the image, if it is one of several for one image.
        """
        image = _IMAGE.get() or ImageRequests()
        if image.deadline is None:
            image.deadline = Deadline(seconds)
        return cls(reference, endpoints[-1], endpoints[:-1], Deadline(seconds, within=image.deadline), image)

    def error(self, reason: RegistryReason, detail: str, hint: str | None = None) -> RegistryError:
        """Return an error of this operation; ``detail`` has no full stop."""
        return RegistryError(reason, detail, self.reference, hint)
