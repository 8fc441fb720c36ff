"""From a built server to its end: signals, the wait for Kubernetes, and requests under way.

Kubernetes sends SIGTERM and removes the pod from its Service at the same time, and API servers learn of that later. So
the server stops being ready, answers for some seconds more (each answer closes its connection), and then finishes what
is under way. Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
"""

from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import Callable
from typing import Final

from multiarch.webhook.log_options import LogLevel
from multiarch.webhook.logs import Log
from multiarch.webhook.server import Server

FINISH_SECONDS: Final = 5.0
"""The most time for requests under way once no new connection is taken."""
_CLOSE_SECONDS = 0.5
"""The most time for answers that are being sent."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """The signals that end the server: SIGTERM, or SIGINT without the wait for Kubernetes; a second one at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Handle the signals from now on."""
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
        self.signal: signal.Signals | None = None
        for each in _SIGNALS:
            loop.add_signal_handler(each, self._received, each)

    def _received(self, received: signal.Signals) -> None:
        if self.signal is not None:
            self.at_once.set()
        self.signal = received
        self.asked.set()


async def serve(
    server: Server,
    context: ssl.SSLContext,
    log: Log,
    *,
    drain_seconds: float,
    started: Callable[[], None] = lambda: None,
) -> int:
    """Listen until a signal, then drain. Returns the exit code: 0, or 128 and the second signal's number.

    Raises OutsideError if a port can't be used.
    """
    stop = Stop(asyncio.get_running_loop())
    await server.start(context)
    started()
    log.write(LogLevel.INFO, "ready", port=server.ports[0], metricsPort=server.ports[1])
    await stop.asked.wait()
    draining = asyncio.create_task(_drain(server, log, 0.0 if stop.signal is signal.SIGINT else drain_seconds))
    hurry = asyncio.create_task(stop.at_once.wait())
    await asyncio.wait((draining, hurry), return_when=asyncio.FIRST_COMPLETED)
    if not draining.done():
        draining.cancel()
        log.write(LogLevel.WARNING, "ended at once by a second signal", requests=server.requests)
        return 128 + (stop.signal or signal.SIGTERM)
    hurry.cancel()
    await draining
    return 0


async def _drain(server: Server, log: Log, seconds: float) -> None:
    server.drain()
    log.write(LogLevel.INFO, "shutting down: no longer ready", seconds=seconds)
    await asyncio.sleep(seconds)
    if not await server.finished(FINISH_SECONDS):
        log.write(LogLevel.WARNING, "requests were not finished in time", requests=server.requests)
    await server.close(_CLOSE_SECONDS)
