"""The process of the webhook: everything that serves, from its start to its end.

Kubernetes sends SIGTERM and removes the pod from its Service at the same time, and API servers learn of that later. So
the server stops being ready, answers for some seconds more (each answer closes its connection), and then finishes what
is under way. Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import uvloop

from multiarch.schema.webhook import WebhookConfiguration
from multiarch.threads import DaemonThreads
from multiarch.webhook.certificate import CHECK_SECONDS, Certificate
from multiarch.webhook.decision_log import DecisionLog
from multiarch.webhook.handler import Handler
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.logs import Log, LogLevel
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.server import Listening, Server

FINISH_SECONDS: Final = 5.0
"""Maximum time for requests under way once no new connection is accepted."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How the process runs; what it decides is in the configuration."""

    certificate_dir: Path
    listening: Listening = field(default_factory=Listening)
    log_level: LogLevel = LogLevel.INFO
    drain_seconds: float = 5.0


def run_service(configuration: WebhookConfiguration, options: ServiceOptions) -> None:
    """Serve until a signal.

    Raises CertificateError, OutsideError for a port that can't be used, and MultiarchError for a configuration that
    can't be used.
    """
    metrics = Metrics()
    log = Log(options.log_level, dropped=metrics.lines_dropped)
    try:
        # What aiohttp and asyncio log.
        logging.basicConfig(
            handlers=[log], level=logging.DEBUG if log.shows(LogLevel.DEBUG) else logging.WARNING, force=True
        )
        uvloop.run(_run(configuration, options, metrics, log))
    finally:
        log.close()


async def _run(configuration: WebhookConfiguration, options: ServiceOptions, metrics: Metrics, log: Log) -> None:
    # Looking up a name may outlast every time limit, and the end of the process.
    asyncio.get_running_loop().set_default_executor(DaemonThreads())
    certificate = Certificate(options.certificate_dir, metrics, log)
    look_ups = LookUps.from_configuration(configuration, metrics)
    handler = Handler(configuration, look_ups, metrics, DecisionLog(log))
    server = Server(options.listening, handler.review, metrics, certificate.why_not_ready, handler.failed)
    async with look_ups:
        checks = asyncio.create_task(check_forever(CHECK_SECONDS, certificate.check))
        try:
            await serve_requests(server, certificate, log, drain_seconds=options.drain_seconds)
        finally:
            checks.cancel()
        log.write(LogLevel.INFO, "stopped", code=0)


async def serve_requests(server: Server, certificate: Certificate, log: Log, *, drain_seconds: float) -> None:
    """Listen until a signal, then drain: SIGINT without the wait for Kubernetes. A second signal ends the process.

    Raises OutsideError if a port can't be used.
    """
    loop, received = asyncio.get_running_loop(), asyncio.Queue[signal.Signals]()
    for each in _SIGNALS:
        loop.add_signal_handler(each, received.put_nowait, each)
    await server.start(certificate.listening)
    log.write(LogLevel.INFO, "ready", port=server.ports[0], metricsPort=server.ports[1])
    first = await received.get()
    for each in _SIGNALS:
        loop.add_signal_handler(each, _end_at_once, each, server, log)
    seconds = 0.0 if first is signal.SIGINT else drain_seconds
    server.drain()
    log.write(LogLevel.INFO, "shutting down: no longer ready", seconds=seconds)
    await asyncio.sleep(seconds)
    if not await server.close(FINISH_SECONDS):
        log.write(LogLevel.WARNING, "requests were not finished in time")


def _end_at_once(received: signal.Signals, server: Server, log: Log) -> None:
    log.write(LogLevel.WARNING, "ended at once by a second signal", requests=server.requests)
    log.close()
    os._exit(128 + received)


async def check_forever(seconds: float, check: Callable[[], None]) -> None:
    """Run the check every ``seconds``; retry a failed one on the next run."""
    while True:
        await asyncio.sleep(seconds)
        try:
            # In a thread: a folder in a network may hang.
            await asyncio.to_thread(check)
        except Exception as error:  # noqa: BLE001 (without checks, the certificate in use would expire)
            _log.error("a check failed inside of the webhook", exc_info=error)
