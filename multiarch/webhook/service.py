"""The process of the webhook: everything that serves, put together."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from multiarch.schema.webhook import WebhookConfiguration
from multiarch.threads import DaemonThreads
from multiarch.webhook import lifecycle
from multiarch.webhook.certificate import CHECK_SECONDS, Certificate, CertificateError
from multiarch.webhook.decision_log import DecisionLog
from multiarch.webhook.handler import Handler
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.log_options import LogFormat, LogLevel
from multiarch.webhook.logs import Log, library_logs
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.model import Observers
from multiarch.webhook.server import Listening, Server

if TYPE_CHECKING:
    from multiarch.webhook.events import Events

_DAY = 86400.0
_MIB = 1024 * 1024
_OBJECTS_BETWEEN_COLLECTIONS = 100_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How the process runs; what it decides is in the configuration."""

    certificate_dir: Path
    listening: Listening = field(default_factory=Listening)
    log_format: LogFormat = LogFormat.JSON
    log_level: LogLevel = LogLevel.INFO
    drain_seconds: float = 5.0


def run(configuration: WebhookConfiguration, options: ServiceOptions) -> int:
    """Serve until a signal. Returns the exit code.

    Raises CertificateError, OutsideError for a port that can't be used, and MultiarchError for a configuration that
    can't be used.
    """
    metrics = Metrics()
    log = Log(options.log_format, options.log_level, dropped=lambda lines: metrics.lines_dropped("write-error", lines))
    try:
        with library_logs(log):
            return uvloop.run(_run(configuration, options, metrics, log))
    finally:
        log.close()


async def _run(configuration: WebhookConfiguration, options: ServiceOptions, metrics: Metrics, log: Log) -> int:
    loop = asyncio.get_running_loop()
    # Looking up a name may outlast every time limit, and the end of the process.
    loop.set_default_executor(DaemonThreads())
    certificate = Certificate(options.certificate_dir, CertificateReport(metrics, log))
    decisions = DecisionLog(log, lambda lines: metrics.lines_dropped("rate-limit", lines))
    look_ups = LookUps.from_configuration(configuration)
    events = _events(metrics) if configuration.events else None
    observers = Observers(metrics, decisions, *([events] if events else ()))
    handler = Handler(configuration, look_ups, observers)
    server = Server(options.listening, handler, metrics, lambda: _why_not_ready(certificate), observers.failed)
    metrics.watch_look_ups(lambda: look_ups.statistics, configuration.cache.memory_mib * _MIB)
    async with look_ups, events or nullcontext():
        notes = Notes(lambda: look_ups.notes, log)
        notes.check()
        checks = asyncio.create_task(check_forever(CHECK_SECONDS, certificate.check, notes.check))
        try:
            code = await lifecycle.serve(
                server, certificate.context, log, drain_seconds=options.drain_seconds, started=forget_start
            )
        finally:
            checks.cancel()
        log.write(LogLevel.INFO, "stopped", code=code)
        return code


def _events(metrics: Metrics) -> Events:
    """Return what writes Events in the cluster that this runs in. Raises MultiarchError outside of a pod."""
    from multiarch.webhook.events import Events  # noqa: PLC0415 (few webhooks write Events, and all start fast)
    from multiarch.webhook.pod_api import PodApi  # noqa: PLC0415 (likewise)

    return Events(PodApi(), metrics.event)


def _why_not_ready(certificate: Certificate) -> str:
    return "the certificate has expired" if certificate.expired else ""


def forget_start() -> None:
    """Leave what the start made out of all garbage collections to come, and let these be rare.

    A request leaves nothing for them: it makes no circles of objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


async def check_forever(seconds: float, *checks: Callable[[], None]) -> None:
    """Do all checks every so many seconds. One that fails is done again the next time."""
    while True:
        await asyncio.sleep(seconds)
        for check in checks:
            try:
                # In a thread: a folder in a network may hang.
                await asyncio.to_thread(check)
            except Exception as error:  # noqa: BLE001 (without checks, the certificate in use would expire)
                _log.error("a check failed inside of the webhook", exc_info=error)


class Notes:
    """Logs problems with the cache on disk, each once."""

    def __init__(self, notes: Callable[[], list[str]], log: Log) -> None:
        """``notes`` returns those so far."""
        self._notes = notes
        self._log = log
        self._told: set[str] = set()

    def check(self) -> None:
        """Log those that are new."""
        for note in self._notes():
            if note not in self._told:
                self._told.add(note)
                self._log.write(LogLevel.WARNING, note)


class CertificateReport:
    """Puts what becomes of the certificate into metrics and log."""

    def __init__(self, metrics: Metrics, log: Log) -> None:
        """Nothing is reported yet."""
        self._metrics = metrics
        self._log = log
        self._reloads = False

    def certificate_in_use(self, expires: float) -> None:
        """See ``certificate.Report``."""
        self._metrics.certificate_in_use(expires)
        if self._reloads:
            self._metrics.certificate_changed("success")
            self._log.write(LogLevel.INFO, "the new certificate is in use", expires=round(expires))
        self._reloads = True

    def certificate_refused(self, error: CertificateError) -> None:
        """See ``certificate.Report``."""
        self._metrics.certificate_changed("failure")
        self._log.write(LogLevel.ERROR, f"{error} The certificate in use stays.")

    def certificate_expires(self, seconds: float) -> None:
        """See ``certificate.Report``."""
        if seconds > 0:
            message, level = f"the certificate expires in {seconds / _DAY:.1f} days", LogLevel.WARNING
        else:
            message, level = "the certificate has expired", LogLevel.ERROR
        self._log.write(level, message)
