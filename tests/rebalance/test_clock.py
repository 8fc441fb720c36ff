"""The clock of a run."""

from __future__ import annotations

import time

import pytest

from multiarch.rebalance.clock import Clock


def test_time_in_which_the_system_was_suspended_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    suspended = {time.CLOCK_BOOTTIME: 700.0, time.CLOCK_MONOTONIC: 100.0}
    monkeypatch.setattr(time, "clock_gettime", suspended.__getitem__)
    assert Clock().elapsed() == 700.0
