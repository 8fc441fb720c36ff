"""Quiet hours that never end are told from those that do, and no others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from multiarch.autoscaling.quiet_hours import are_quiet, find_longest_pause

DAY, HOUR = 24 * 60, 60


@pytest.mark.parametrize(
    ("schedule", "minutes"),
    [
        ("0 8 * * *", DAY),
        ("0 * * * *", HOUR),
        ("*/15 * * * *", 15),
        ("5,10 * * * *", 55),
        ("* * * * *", 1),
        ("0 8,20 * * *", 12 * HOUR),
        ("0 22/1 * * *", 23 * HOUR),
        ("0 8 * * mon-FRI", 3 * DAY),
        ("0 0 1 * *", 31 * DAY),
        ("0 0 31 * *", 61 * DAY),
        ("0 0 1 1 *", 366 * DAY),
        ("0 0 29 2 *", 365 * DAY),  # the least that is certain: one start in the years that are looked at
        # Where both are named, a day of either kind will do.
        ("0 0 1 * mon", 7 * DAY),
    ],
)
def test_the_longest_time_between_two_beginnings(schedule: str, minutes: int) -> None:
    assert find_longest_pause(schedule) == minutes


@pytest.mark.parametrize(
    ("schedule", "duration", "at", "quiet"),
    [
        ("0 8 * * *", "10h", "2026-11-22T07:59:59", False),
        ("0 8 * * *", "10h", "2026-11-22T08:00:00", True),
        ("0 8 * * *", "10h", "2026-11-22T17:59:59", True),
        ("0 8 * * *", "10h", "2026-11-22T18:00:00", False),
        ("0 22 * * *", "8h", "2026-11-22T05:59:00", True),
        ("0 8 * * mon-fri", "10h", "2026-11-22T09:00:00", False),
        ("0 20 * * fri", "60h", "2026-11-22T09:00:00", True),
        ("0 20 * * fri", "60h", "2026-11-23T08:00:00", False),
        ("*/30 * * * *", "10m", "2026-11-22T09:39:59", True),
        ("*/30 * * * *", "10m", "2026-11-22T09:40:00", False),
        ("0 0 1 1 *", "24h", "2026-01-01T23:00:00", True),
    ],
)
def test_quiet_hours_last_from_a_start_for_their_duration(
    schedule: str, duration: str, at: str, *, quiet: bool
) -> None:
    assert are_quiet(schedule, duration, datetime.fromisoformat(at).replace(tzinfo=UTC)) is quiet
