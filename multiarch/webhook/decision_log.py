"""Decisions in the log: what they were about, and why. Nothing of a pod but its name, its owner and its images."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from multiarch.webhook.log_options import LogLevel
from multiarch.webhook.logs import Log
from multiarch.webhook.model import Decision, Outcome, Request

_LEVELS = {
    Outcome.SKIP: LogLevel.DEBUG,
    Outcome.TOLERATE: LogLevel.INFO,
    Outcome.LEAVE: LogLevel.INFO,
    Outcome.UNKNOWN: LogLevel.WARNING,
}
REPEAT_SECONDS = 60.0
"""The same decision about pods of one owner is one line in this time; the next one says how often it was repeated."""
_MOST_REMEMBERED = 4096
_LINES_PER_SECOND = 500
"""More decisions than that are counted, not written."""

_Key = tuple[str, str, str, str, str, tuple[str, ...]]


class DecisionLog:
    """Writes decisions. With level ``debug`` it writes each of them. An Observer."""

    def __init__(
        self,
        log: Log,
        dropped: Callable[[int], None] = lambda _lines: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``dropped`` is told of decisions that are not written because there are too many."""
        self._log = log
        self._dropped = dropped
        self._clock = clock
        self._every = log.shows(LogLevel.DEBUG)
        self._shown = {outcome: level for outcome, level in _LEVELS.items() if log.shows(level)}
        self._seen: OrderedDict[_Key, list[float]] = OrderedDict()
        self._second = 0
        self._room = _LINES_PER_SECOND

    def decided(self, request: Request, decision: Decision, seconds: float) -> None:
        """Write a decision, unless it repeats one."""
        level = self._shown.get(decision.outcome)
        if level is None:
            return
        repeated = 0
        if not self._every:
            now = self._clock()
            owner = request.owner or request.name
            key = (
                request.namespace,
                owner,
                request.mode,
                decision.outcome,
                decision.reason,
                decision.images,
            )
            seen = self._seen.get(key)
            if seen is not None and now < seen[0]:
                seen[1] += 1
                return
            repeated = 0 if seen is None else int(seen[1])
            if not self._has_room(now):
                self._dropped(1)
                return
            self._remember(key, now)
        more = {"repeated": repeated} if repeated else {}
        self._log.write(
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
            **more,
        )

    def failed(self, reason: str, text: str) -> None:
        """Write why a request was refused."""
        if self._every or self._has_room(self._clock()):
            self._log.write(LogLevel.WARNING, text, reason=reason)
        else:
            self._dropped(1)

    def _remember(self, key: _Key, now: float) -> None:
        self._seen[key] = [now + REPEAT_SECONDS, 0]
        self._seen.move_to_end(key)
        if len(self._seen) > _MOST_REMEMBERED:
            self._seen.popitem(last=False)

    def _has_room(self, now: float) -> bool:
        second = int(now)
        if second != self._second:
            self._second, self._room = second, _LINES_PER_SECOND
        self._room -= 1
        return self._room >= 0
