from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.errors import UnknownFactError
from multiarch.facts.kubernetes import (
    AL2_END,
    AL2_IMAGES_END,
    DEFAULT_VERSION,
    LAST_AL2_VERSION,
    RELEASES,
    SupportStatus,
    find_successor,
    get_support_status,
    list_versions,
    parse_version,
    supports_al2,
)


@pytest.mark.parametrize(
    ("version", "today", "status"),
    [
        ("1.30", date(2026, 7, 23), SupportStatus("1.30", "unsupported", date(2026, 7, 23))),
        ("1.31", date(2025, 11, 25), SupportStatus("1.31", "standard", date(2025, 11, 26))),
        ("1.31", date(2025, 11, 26), SupportStatus("1.31", "extended", date(2026, 11, 26))),
        ("1.31", date(2026, 11, 26), SupportStatus("1.31", "unsupported", date(2026, 11, 26))),
        ("1.36", date(2026, 8, 1), SupportStatus("1.36", "unconfirmed", None)),
    ],
)
def test_a_tier_lasts_until_the_day_the_calendar_names(version: str, today: date, status: SupportStatus) -> None:
    assert get_support_status(version, today) == status


def test_releases_are_in_order_and_end_in_order() -> None:
    assert [parse_version(version) for version in list_versions()] == sorted(
        parse_version(version) for version in list_versions()
    )
    ends = [release.standard_ends for release in RELEASES if release.standard_ends is not None]
    assert ends == sorted(ends)


@given(st.sampled_from(list_versions()), st.dates(date(2024, 1, 1), date(2032, 1, 1)), st.integers(1, 3000))
def test_support_never_gets_better_with_time(version: str, today: date, days: int) -> None:
    order = ["standard", "extended", "unsupported", "unconfirmed"]
    earlier, later = get_support_status(version, today), get_support_status(version, today + timedelta(days=days))
    assert order.index(earlier.tier) <= order.index(later.tier)
    if earlier.tier in ("standard", "extended"):
        assert earlier.ends is not None
        assert earlier.ends > today


def test_an_unquoted_version_of_yaml_is_recognised() -> None:
    with pytest.raises(UnknownFactError) as caught:
        get_support_status("1.3", date(2026, 8, 1))
    assert "Write '1.30' in quotes: unquoted, YAML reads 1.30 as the number 1.3." in caught.value.hint


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        ("1.4", "Known are 1.29, "),
        ("v1.35", "Write '1.35'"),
        ("1.35.2", "Write '1.35'"),
    ],
)
def test_an_unknown_version_is_an_error_with_the_known_ones(version: str, hint: str) -> None:
    with pytest.raises(UnknownFactError) as caught:
        get_support_status(version, date(2026, 8, 1))
    assert hint in caught.value.hint


@pytest.mark.parametrize("version", ["1", "v1.35", "1.035", "1.35\n", "1.٣٥"])
def test_anything_but_major_and_minor_does_not_parse(version: str) -> None:
    with pytest.raises(UnknownFactError, match="minor version"):
        parse_version(version)


def test_amazon_linux_2_ends_at_1_32() -> None:
    assert LAST_AL2_VERSION == "1.32"
    assert [version for version in list_versions() if not supports_al2(version)] == ["1.33", "1.34", "1.35", "1.36"]
    assert (date(2025, 11, 26), date(2026, 6, 30)) == (AL2_IMAGES_END, AL2_END)


def test_the_default_version_has_a_confirmed_calendar_and_no_newer_one_has() -> None:
    confirmed = [release.version for release in RELEASES if release.standard_ends is not None]
    assert confirmed[-1] == DEFAULT_VERSION


@pytest.mark.parametrize(
    ("today", "version"),
    [(date(2026, 11, 21), "1.35"), (date(2028, 3, 26), "1.35"), (date(2028, 3, 27), None)],
)
def test_what_to_use_instead_is_supported_itself(today: date, version: str | None) -> None:
    assert find_successor(today) == version
