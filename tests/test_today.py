"""The day that support dates are compared with."""

from __future__ import annotations

from datetime import date

import pytest

from multiarch.errors import MultiarchError
from multiarch.today import get_today


def test_the_variable_names_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")
    assert get_today() == date(2026, 11, 21)


@pytest.mark.parametrize("value", ["soon", "9" * 30])
def test_anything_but_seconds_is_rejected(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    with pytest.raises(MultiarchError, match="SOURCE_DATE_EPOCH"):
        get_today()
