"""Cron schedules of quiet hours, in UTC: whether they are valid, whether they ever end, whether a time is within them.

Karpenter treats a budget as active when its schedule last started within its duration, and also when the schedule
never starts. Source: karpenter, ``pkg/apis/v1/nodepool.go`` (``Budget.IsActive``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from math import inf

from cronsim import CronSim, CronSimError

from multiarch.autoscaling.syntax import check_quiet_duration, parse_seconds

_FIELDS = 5
# What Karpenter's parser reads: none of cronsim's extensions, such as L and #.
_FIELD = re.compile(r"(?!.*[0-9]{3})[0-9*/,-]+|(?:[a-z]{3}[,-]?)+", re.ASCII | re.IGNORECASE)
_SUNDAY = "7"
_FIRST = datetime(2025, 1, 1, tzinfo=UTC)
_LAST = datetime(2030, 1, 1, tzinfo=UTC)
_STARTS = 20_000
"""Two weeks of a schedule that starts every minute."""


def check_schedule(schedule: str) -> str | None:
    """Check a cron schedule of five fields; return what is wrong, or None."""
    fields = schedule.split(" ")
    if len(fields) != _FIELDS:
        return f"{schedule!r} is not a cron schedule: it has {len(fields)} fields instead of {_FIELDS}"
    wrong = [field for field in fields if not _FIELD.fullmatch(field)]
    if wrong or _SUNDAY in fields[-1]:
        return f"{schedule!r} is not a cron schedule: {(wrong or fields)[-1]!r} is not valid"
    try:
        CronSim(schedule, _FIRST)
    except CronSimError as error:
        # It rejects a date that never comes too, such as 31 February, which Karpenter's parser accepts.
        return f"{schedule!r} is not a cron schedule: {str(error).lower()}"
    return None


def find_faults(schedule: str, duration: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with quiet hours, each with the name of its key: ``schedule`` or ``duration``."""
    faults = {"schedule": check_schedule(schedule), "duration": check_quiet_duration(duration)}
    if not any(faults.values()) and _is_endless(schedule, parse_seconds(duration)):
        said = f"{schedule!r} starts again before {duration} is over"
        faults["duration"] = f"{said}: quiet hours never end, and nothing is ever moved"
    yield from ((key, fault) for key, fault in faults.items() if fault)


def _is_endless(schedule: str, seconds: int) -> bool:
    # A leap day and the longest months are among the starts of these years.
    starts = takewhile(lambda start: start < _LAST, islice(CronSim(schedule, _FIRST), _STARTS))
    pauses = ((later - earlier).total_seconds() for earlier, later in pairwise(starts))
    return next(pauses, inf) <= seconds and all(pause <= seconds for pause in pauses)


def are_quiet(schedule: str, duration: str, at: datetime) -> bool:
    """Return whether the last start of a valid schedule is less than a valid duration before ``at``, in UTC."""
    # A start at `at` itself counts.
    last = next(CronSim(schedule, at + timedelta(seconds=1), reverse=True))
    return (at - last).total_seconds() < parse_seconds(duration)
