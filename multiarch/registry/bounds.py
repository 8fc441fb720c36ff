"""Bounds on the work that registries which are not trusted make for the event loop.

A hostile registry can send what is slow to parse: 100 images of one pod would keep all other pods waiting. So the work
for one image is bounded, and what is not small is done one after the other, with pauses for other work.
"""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

__all__ = ["ContentBounds"]

_HEADERS = 256 * 1024
"""Bytes of a response besides its body: headers, and the framing of chunks."""
_LINES = 5000
"""Ends of lines in a response: chunks of a byte, or interim responses, take long to parse, and more to put together."""
_RECEIVED = 32 * 1024
"""The socket's receive buffer: a server can't make more of a response wait here."""
_FREE, _FREE_LINES = 32 * 1024, 300
"""Bytes and ends of lines at the start of a response that wait for no other: hardly any real one has more."""
_PIECE = 8 * 1024
"""The most bytes that are parsed without a break."""
_WINDOW, _SHARE = 0.05, 0.01
"""In each window of so many seconds, the seconds that may be spent on parsing responses."""
_SMALL = 1000
"""Values of a document that is decoded at once."""
_SECONDS_PER_VALUE = 4e-6
"""A pause of at least four times what decoding and reading a value takes."""
_ESCAPES = 4
"""So many escapes take as long as one value."""


@dataclass(frozen=True, slots=True)
class ContentBounds:
    """Bounds on one image. Real ones need less than a tenth of each.

    ``blob`` are the bytes of a config; ``values`` are those of a JSON document, as :func:`values_in` counts them: so
    many keep the loop busy for 30 ms at most. ``requests`` are all requests for one image, with redirects, retries and
    tokens.
    """

    blob: int = 1024 * 1024
    values: int = 25_000
    requests: int = 50


class TooManyBytesError(aiohttp.ClientPayloadError):
    """A response is longer than its body may be, by its headers or its framing."""


def values_in(content: bytes) -> int:
    """The most values that a JSON document can have, and a part of its escapes. Takes a millisecond per MiB."""
    return sum(content.count(mark) for mark in (b",", b"[", b"{")) + content.count(b"\\") // _ESCAPES


class Turns:
    """Lets documents with many values be decoded one after the other, with pauses."""

    def __init__(self) -> None:
        """For one event loop."""
        self._lock = asyncio.Lock()

    async def wait(self, values: int) -> None:
        """Wait until a document with so many values may be decoded."""
        if values > _SMALL:
            async with self._lock:
                await asyncio.sleep(values * _SECONDS_PER_VALUE)


class _Pace:
    """Bounds the share of the loop's time in which responses are parsed."""

    def __init__(self) -> None:
        self._end = self._spent = 0.0

    def charge(self, seconds: float) -> None:
        """Count time that was spent."""
        now = time.monotonic()
        if now >= self._end:
            self._end, self._spent = now + _WINDOW, 0.0
        self._spent += seconds

    @property
    def wait(self) -> float:
        """The seconds to wait before more may be spent."""
        return max(0.0, self._end - time.monotonic()) if self._spent > _SHARE else 0.0


class _Protocol(ResponseHandler):
    """Parses responses of a limited length, piece by piece, at a limited pace."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pace: _Pace, most: int) -> None:
        super().__init__(loop)
        self._pace = pace
        self._left = self._most = most
        self._lines = _LINES
        self._held = b""

    def set_response_params(self, **parameters: Any) -> None:
        self._left, self._lines = self._most, _LINES
        super().set_response_params(**parameters)

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        self._lines -= data.count(b"\r\n")
        if self._left < 0 or self._lines < 0:
            self._refuse()
        elif self._held:
            self._held += data
        elif not data or (self._most - self._left <= _FREE and _LINES - self._lines <= _FREE_LINES):
            super().data_received(data)
        else:
            self._parse(data)

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 (as in the base class)
        super().resume_reading(resume_parser)
        if self._held and self.transport is not None:
            self.transport.pause_reading()

    def connection_lost(self, exc: BaseException | None) -> None:
        held, self._held = self._held, b""
        if held:
            super().data_received(held)
        super().connection_lost(exc)

    def _parse(self, data: bytes) -> None:
        for at in range(0, len(data), _PIECE):
            if wait := self._pace.wait:
                self._held = data[at:]
                if self.transport is not None:
                    self.transport.pause_reading()
                self._loop.call_later(wait, self._go_on)
                return
            started = time.perf_counter()
            super().data_received(data[at : at + _PIECE])
            self._pace.charge(time.perf_counter() - started)

    def _go_on(self) -> None:
        held, self._held = self._held, b""
        if held and self.transport is not None:
            self._parse(held)
        if not self._held and not self._reading_paused and self.transport is not None:
            self.transport.resume_reading()

    def _refuse(self) -> None:
        error = TooManyBytesError("the response is too long")
        if self._payload is not None:
            self._payload.set_exception(error)
        self.set_exception(error)
        if self.transport is not None:
            self.transport.abort()


class BoundedConnector(aiohttp.TCPConnector):
    """A connection pool whose responses have at most ``most`` bytes besides their headers."""

    def __init__(self, most: int, **options: Any) -> None:
        """``options`` are those of the base class."""
        super().__init__(socket_factory=_new_socket, **options)
        made: Any = partial(_Protocol, self._loop, _Pace(), most + _HEADERS)
        self._factory = made


def _new_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
    return made
