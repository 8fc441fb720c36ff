"""When it is quiet hours, and whether they ever end: they do not where they start again before they are over.

Karpenter treats a budget as active when its schedule last started within its duration, and also when the schedule
never starts.
Source: karpenter, ``pkg/apis/v1/nodepool.go`` (``Budget.IsActive``); the schedule's rules are those of
https://pkg.go.dev/github.com/robfig/cron/v3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import cache
from itertools import pairwise

from multiarch.autoscaling.syntax import FIELDS, MACROS, number_in

_DAY = 24 * 60
# All days of the week in all months, leap years among them: 28 years on, the calendar repeats.
_FIRST, _DAYS = date(2025, 1, 1), 28 * 365 + 7
_UNIT = re.compile(r"([0-9]+)([hm])", re.ASCII)


def longest_pause(schedule: str) -> int | None:
    """Return the most minutes between two starts of a valid schedule; None if it never starts."""
    times, starts_on = _starts(schedule)
    on = [number for number, day in enumerate(_calendar()) if starts_on(*day)]
    if not on:
        return None
    apart = max(later - earlier for earlier, later in pairwise([*on, on[0] + _DAYS]))
    within = max((later - earlier for earlier, later in pairwise(times)), default=0)
    return max(within, apart * _DAY - times[-1] + times[0])


def are_quiet(schedule: str, duration: str, at: datetime) -> bool:
    """Whether the last start of a valid schedule is less than a valid duration before ``at``, which is in UTC."""
    times, starts_on = _starts(schedule)
    minutes = minutes_of(duration)
    now = at.hour * 60 + at.minute + at.second / 60
    for days in range(min(minutes // _DAY + 1, _DAYS) + 1):
        day = at.date() - timedelta(days=days)
        if not starts_on(day.month, day.day, day.isoweekday() % 7):
            continue
        before = [time for time in times if days or time <= now]
        if before:
            return days * _DAY + now - before[-1] < minutes
    return False


def _starts(schedule: str) -> tuple[list[int], Callable[[int, int, int], bool]]:
    """The minutes of the day at which a schedule starts, and whether it does on a month, a day and a weekday."""
    minutes, hours, days, months, weekdays = map(_values, MACROS.get(schedule, schedule).split(" "), range(len(FIELDS)))
    # Where both days of the month and days of the week are restricted, either matches.
    either = not days[1] and not weekdays[1]

    def starts_on(month: int, day: int, weekday: int) -> bool:
        of_month, of_week = day in days[0], weekday in weekdays[0]
        return month in months[0] and ((of_month or of_week) if either else (of_month and of_week))

    return sorted(hour * 60 + minute for hour in hours[0] for minute in minutes[0]), starts_on


@cache
def _calendar() -> tuple[tuple[int, int, int], ...]:
    """Month, day and weekday (0 is Sunday) of each day until the calendar repeats."""
    days = (_FIRST + timedelta(days=number) for number in range(_DAYS))
    return tuple((day.month, day.day, day.isoweekday() % 7) for day in days)


def minutes_of(duration: str) -> int:
    """Return the minutes of a valid duration of hours and minutes."""
    return sum(int(amount) * (60 if unit == "h" else 1) for amount, unit in _UNIT.findall(duration))


def in_hours(minutes: int) -> str:
    """Write minutes as a schedule's duration: ``24h``, ``1h30m``, ``45m``."""
    hours, rest = divmod(minutes, 60)
    return (f"{hours}h" if hours else "") + (f"{rest}m" if rest or not hours else "")


def _values(field: str, place: int) -> tuple[frozenset[int], bool]:
    """The numbers that a field matches, and whether it is ``*``, which matches all (``*/2`` does not)."""
    _, lowest, highest, names = FIELDS[place]
    found: set[int] = set()
    star = False
    for part in field.lower().split(","):
        values, _, written = part.partition("/")
        step = int(written or 1)
        first, dash, last = values.partition("-")
        if values == "*":
            start, end = lowest, highest
            star = star or step == 1
        else:
            start = number_in(first, lowest, names) or 0
            # 22/2 is 22-23/2.
            end = (number_in(last, lowest, names) or 0) if dash else highest if written else start
        found.update(range(start, end + 1, step))
    return frozenset(found), star
