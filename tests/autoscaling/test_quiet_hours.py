"""Quiet hours last from a start of their schedule for their duration; those that never end are told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from multiarch.autoscaling.quiet_hours import are_quiet, find_faults


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


@pytest.mark.parametrize(
    ("schedule", "duration", "endless"),
    [
        ("0 8 * * *", "24h", True),
        ("0 8 * * *", "23h59m", False),
        ("0 8 * * mon-fri", "71h", False),
        ("0 8 * * mon-fri", "72h", True),
        ("* * * * mon-fri", "1m", False),  # Saturday comes after thousands of starts
        ("0 0 29 2 *", "240h", False),
        ("0 0 1 1 *", "9000h", True),
        ("* * 1-8 * *", "1m", False),
        ("0 8 * *", "24h", False),  # not valid: told where it stands
    ],
)
def test_quiet_hours_that_never_end_are_explained(schedule: str, duration: str, *, endless: bool) -> None:
    assert any("never end" in fault for _, fault in find_faults(schedule, duration)) is endless
