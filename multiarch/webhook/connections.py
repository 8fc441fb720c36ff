"""Accepts connections for an aiohttp server, and bounds how many are open: the longest idle makes room for a new one.

A connection counts from the moment it is accepted, so one that never begins TLS counts too.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web

_HANDSHAKE_SECONDS = 10.0
_ACCEPT_PAUSE = 0.5
"""Seconds until connections are accepted again after that failed: usually all file descriptors are in use."""
_POLL_SECONDS = 0.02


@dataclass(slots=True)
class _Connection:
    """``opening`` is the socket until TLS has begun; ``busy``: a request is being answered; ``answered``: one was."""

    opening: socket.socket | None
    busy: bool = False
    answered: bool = False


class Connections:
    """The connections of one port. ``context`` returns the TLS context of a new one, None for plain HTTP."""

    def __init__(
        self,
        server: web.Server,
        context: Callable[[], ssl.SSLContext] | None,
        maximum: int,
        refused: Callable[[], None],
    ) -> None:
        """``refused`` is told of each connection that is closed because there are ``maximum`` of them."""
        self._server = server
        self._context = context
        self._maximum = maximum
        self._refused = refused
        self._open: dict[web.RequestHandler, _Connection] = {}
        """The longest idle connection comes first."""
        self._accepting: asyncio.Task[None] | None = None
        self._opening: set[asyncio.Task[None]] = set()
        self._socket: socket.socket | None = None

    def __len__(self) -> int:
        """How many are open."""
        for handler in [key for key, each in self._open.items() if each.opening is None and key.transport is None]:
            del self._open[handler]
        return len(self._open)

    def accept(self, listening: socket.socket) -> None:
        """Accept connections from now on."""
        listening.setblocking(False)  # noqa: FBT003
        self._socket = listening
        self._accepting = asyncio.create_task(self._accept(listening))

    def stop(self) -> None:
        """Accept no more connections than those that wait already."""
        if self._accepting is None or self._socket is None:
            return
        self._accepting.cancel()
        self._accepting = None
        with suppress(OSError):
            while True:
                self._add(self._socket.accept()[0])
        self._socket.close()

    def begin(self, handler: web.RequestHandler) -> None:
        """Note that a connection's request is being answered."""
        if found := self._open.get(handler):
            found.busy = True

    def end(self, handler: web.RequestHandler) -> None:
        """Note that a request was answered: the connection is idle from now on."""
        if found := self._open.pop(handler, None):
            found.busy, found.answered = False, True
            self._open[handler] = found

    async def finish(self, seconds: float) -> bool:
        """Wait until each connection had an answer, and none waits for another. Return False if that takes longer."""
        ends = time.monotonic() + seconds
        while len(self) and any(each.busy or not each.answered for each in self._open.values()):
            if time.monotonic() >= ends:
                break
            await asyncio.sleep(_POLL_SECONDS)
        return not any(each.busy for each in self._open.values())

    async def close(self) -> None:
        """Close the connections that have not begun TLS. The others are the server's to close."""
        self.stop()
        for each in self._open.values():
            if each.opening is not None:
                _shut(each.opening)
        await asyncio.gather(*self._opening)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                found, _ = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(_ACCEPT_PAUSE)
            else:
                self._add(found)

    def _add(self, found: socket.socket) -> None:
        if len(self) >= self._maximum:
            self._refused()
            if not self._close_one():
                found.close()
                return
        handler = self._server()
        entry = self._open[handler] = _Connection(found)
        task = asyncio.create_task(self._connect(found, handler, entry))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _connect(self, found: socket.socket, handler: web.RequestHandler, entry: _Connection) -> None:
        tls = None if self._context is None else self._context()
        seconds = None if tls is None else _HANDSHAKE_SECONDS
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: handler, found, ssl=tls, ssl_handshake_timeout=seconds
            )
        except OSError:
            # No client of ours: it sent something else than TLS, went away, or was too slow.
            self._open.pop(handler, None)
        entry.opening = None

    def _close_one(self) -> bool:
        """Close the longest idle connection. Return False if none is idle."""
        for handler, each in self._open.items():
            if each.busy:
                continue
            if each.opening is None:
                handler.force_close()
            else:
                _shut(each.opening)
            del self._open[handler]
            return True
        return False


def _shut(found: socket.socket) -> None:
    """Let the event loop see the end of a connection that it opens."""
    with suppress(OSError):
        found.shutdown(socket.SHUT_RDWR)
