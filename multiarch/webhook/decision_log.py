"""Decisions in the log: what they were about, and why. Nothing of a pod but its name, its owner and its images."""

from __future__ import annotations

import time
from collections.abc import Callable

from cachetools import LRUCache

from multiarch.webhook.logs import Log, LogLevel
from multiarch.webhook.model import Decision, DecisionOutcome, Request

_LEVELS = {
    DecisionOutcome.SKIP: LogLevel.DEBUG,
    DecisionOutcome.TOLERATE: LogLevel.INFO,
    DecisionOutcome.LEAVE: LogLevel.INFO,
    DecisionOutcome.UNKNOWN: LogLevel.WARNING,
}
REPEAT_SECONDS = 60.0
"""The same decision about pods of one owner is one line in this time; the next one says how often it was repeated."""
_REMEMBERED = 4096


class DecisionLog:
    """Writes decisions. With level ``debug`` it writes each of them. An Observer."""

    def __init__(self, log: Log, clock: Callable[[], float] = time.monotonic) -> None:
        """Write nothing yet."""
        self._log = log
        self._clock = clock
        self._every = log.shows(LogLevel.DEBUG)
        self._shown = {outcome: level for outcome, level in _LEVELS.items() if log.shows(level)}
        self._seen: LRUCache[tuple[object, ...], list[float]] = LRUCache(_REMEMBERED)
        """Until when a decision is not written again, and how often it was repeated."""

    def decided(self, request: Request, decision: Decision, seconds: float) -> None:
        """Write a decision, unless it repeats one."""
        level = self._shown.get(decision.outcome)
        if level is None:
            return
        if self._every:
            self._write(level, request, decision, seconds, 0)
            return
        now = self._clock()
        owner = request.owner or request.name
        key = request.namespace, owner, request.mode, decision.outcome, decision.reason, decision.images
        seen = self._seen.get(key)
        if seen is not None and now < seen[0]:
            seen[1] += 1
        elif self._write(level, request, decision, seconds, 0 if seen is None else int(seen[1])):
            self._seen[key] = [now + REPEAT_SECONDS, 0]

    def failed(self, reason: str, text: str) -> None:
        """Write why a request was rejected."""
        self._log.write(LogLevel.WARNING, text, reason=reason)

    def _write(self, level: LogLevel, request: Request, decision: Decision, seconds: float, repeated: int) -> bool:
        return self._log.write(
            level,
            decision.text,
            outcome=decision.outcome,
            reason=decision.reason,
            mode=request.mode,
            namespace=request.namespace,
            pod=request.name,
            owner=request.owner,
            images=decision.images,
            pinned=decision.pinned,
            dryRun=request.dry_run,
            milliseconds=round(seconds * 1000, 3),
            uid=request.uid,
            **({"repeated": repeated} if repeated else {}),
        )
