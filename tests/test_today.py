"""The day that support dates are compared with."""

from __future__ import annotations

from datetime import date

import pytest

from multiarch.errors import MultiarchError
from multiarch.today import get_today


def test_the_variable_names_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")
    assert get_today() == date(2026, 11, 21)


@pytest.mark.parametrize("value", [None, ""])
def test_without_it_the_clock_does(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    if value is not None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    before = date.today()  # noqa: DTZ011  (the same clock and zone as people's)
    assert before <= get_today() <= date.today()  # noqa: DTZ011


@pytest.mark.parametrize("value", ["soon", "1.5", "9" * 30])
def test_anything_but_seconds_is_rejected(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    with pytest.raises(MultiarchError, match="SOURCE_DATE_EPOCH"):
        get_today()
