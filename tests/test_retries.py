"""When failed requests are sent again."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from multiarch.retries import RetryPolicy, retry_after


def test_each_wait_is_twice_as_long_and_half_of_it_is_random() -> None:
    policy = RetryPolicy(4, 0.3)
    for attempt in range(5):
        waits = [policy.wait(attempt) for _ in range(200)]
        assert 0.15 * 2**attempt <= min(waits) < max(waits) <= 0.3 * 2**attempt


def test_what_the_server_asks_for_comes_on_top_up_to_the_longest_wait() -> None:
    policy = RetryPolicy(4, 0.3, longest_wait=30.0)
    assert 7.15 <= policy.wait(0, 7.0) <= 7.3
    assert policy.wait(0, 3600.0) == 30.0
    assert policy.wait(20) == 30.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("120", 120.0),
        (" 5 ", 5.0),
        ("soon", None),
        ("-5", None),
        ("", None),
        (format_datetime(datetime.fromtimestamp(1_000_060, UTC), usegmt=True), 60.0),
        (format_datetime(datetime.fromtimestamp(999_000, UTC), usegmt=True), 0.0),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, 1_000_000.0) == seconds
