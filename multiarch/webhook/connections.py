"""The connections of one port: bounded from the moment of their acceptance, before any TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic

from aiohttp import web

_HANDSHAKE_SECONDS = 10.0
_PAUSE_SECONDS = 0.1
"""The wait after a failed acceptance: all file descriptors are in use."""
_FIRST_SECONDS = 1.0
"""How long the first request of a connection is waited for at the end."""


class Connections:
    """Accepts connections for an application; with ``most`` open, the longest idle one is closed for a new one."""

    def __init__(
        self,
        server: web.Server,
        listening: socket.socket,
        tls: ssl.SSLContext | None,
        most: int,
        full: Callable[[], None],
    ) -> None:
        """Accept from now on; ``full`` is told of each connection that takes the place of another, or is rejected."""
        self._server = server
        self._listening = listening
        self._tls = tls
        self._most = most
        self._full = full
        self.busy: set[web.RequestHandler] = set()
        """Connections whose request is being answered."""
        self._opening: dict[asyncio.Task[None], float] = {}
        self._fresh: set[asyncio.BaseProtocol] = set()
        """Connections without a request so far."""
        self._used: dict[asyncio.BaseProtocol, float] = {}
        """Since when open connections are idle; those that are gone are removed at the next acceptance."""
        listening.settimeout(0)
        self._accepting = asyncio.create_task(self._accept_forever())
        self._accepting.add_done_callback(self._end_accepting)

    @property
    def failed(self) -> bool:
        """Whether a fault in this program has ended the acceptance: only a new process helps."""
        return self._accepting.done() and not self._accepting.cancelled()

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._opening) + len(self._server.connections)

    def begin(self, protocol: web.RequestHandler) -> None:
        """Note that a request of a connection is being answered."""
        self._note(protocol)
        self.busy.add(protocol)
        self._fresh.discard(protocol)

    def end(self, protocol: web.RequestHandler) -> None:
        """Note that it is answered."""
        self.busy.discard(protocol)
        self._used[protocol] = monotonic()

    async def stop(self) -> None:
        """Accept what has come, and no more."""
        self._accepting.cancel()
        await asyncio.wait([self._accepting])

    def _end_accepting(self, accepting: asyncio.Task[None]) -> None:
        # What waits to be accepted would be reset.
        with suppress(OSError):
            while accepting.cancelled():
                accepted, _ = self._listening.accept()
                accepted.settimeout(0)
                self._admit(accepted)
        self._listening.close()

    def count_expected(self) -> int:
        """Count the connections that were opened a moment ago and whose first request may be on its way."""
        since = [
            *self._opening.values(),
            *(self._used[each] for each in self._fresh.intersection(self._server.connections)),
        ]
        return sum(monotonic() - each < _FIRST_SECONDS for each in since)

    def close(self) -> None:
        """End the connections that are being opened."""
        for each in self._opening:
            each.cancel()

    async def _accept_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listening)
            except OSError:
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            self._admit(accepted)

    def _admit(self, accepted: socket.socket) -> None:
        if not self._make_room():
            accepted.close()
            return
        opening = asyncio.create_task(self._open(accepted))
        self._opening[opening] = monotonic()
        opening.add_done_callback(partial(self._end_opening, accepted))

    def _end_opening(self, accepted: socket.socket, opening: asyncio.Task[None]) -> None:
        del self._opening[opening]
        if opening.cancelled():
            accepted.close()

    async def _open(self, accepted: socket.socket) -> None:
        seconds = None if self._tls is None else _HANDSHAKE_SECONDS
        with suppress(OSError):
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                self._server, accepted, ssl=self._tls, ssl_handshake_timeout=seconds
            )
            # uvloop returns TLS' own protocol beside the transport.
            self._note(transport.get_protocol())

    def _note(self, protocol: asyncio.BaseProtocol) -> None:
        """Note an open connection."""
        if protocol not in self._used:
            self._used[protocol] = monotonic()
            self._fresh.add(protocol)

    def _make_room(self) -> bool:
        connections = self._server.connections
        self._used = {each: self._used[each] for each in connections if each in self._used}
        self._fresh.intersection_update(connections)
        for each in connections:
            self._note(each)
        if len(self) < self._most:
            return True
        self._full()
        # An abort does not wait for the peer, as a close of TLS would.
        idle: list[tuple[float, Callable[[], object]]] = [(since, each.cancel) for each, since in self._opening.items()]
        idle += [
            (self._used[each], each.transport.abort)
            for each in connections
            if each not in self.busy and each.transport is not None
        ]
        if idle:
            _, end = min(idle, key=lambda pair: pair[0])
            end()
        return bool(idle)
