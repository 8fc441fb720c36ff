"""The notations of a NodePool: nothing passes that the API server's pattern or cron's parser rejects."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.autoscaling.quiet_hours import check_schedule
from multiarch.autoscaling.syntax import (
    check_budget,
    check_grace_period,
    check_lifetime,
    check_memory,
    check_period,
    check_quiet_duration,
)

# The patterns of the NodePool's CRD in Karpenter 1.14.
CRD: dict[Callable[[str], str | None], str] = {
    check_quiet_duration: r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$",
    check_period: r"^(([0-9]+(s|m|h))+|Never)$",
    check_lifetime: r"^(([0-9]+(s|m|h))+|Never)$",
    check_grace_period: r"^([0-9]+(s|m|h))+$",
    check_budget: r"^((100|[0-9]{1,2})%|[0-9]+)$",
    check_memory: r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
    r"([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    check_schedule: r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$",
}
WORDS = st.one_of(
    st.from_regex(r"[0-9]{0,3}(h|m|s|%|Gi|M|k)?([0-9]{1,2}(m|s))?", fullmatch=True),
    st.sampled_from(["Never", "", "10%", "100%", "101%", "-1", "1e3", "@daily", "0 8 * * mon-fri", "512Gi", "1.5Gi"]),
    st.text(alphabet="0123456789hms%*-/ .,@GiMkNever", max_size=12),
)


@pytest.mark.parametrize("fault_of", CRD, ids=lambda each: each.__name__)
def test_what_passes_here_matches_the_crds_pattern(fault_of: Callable[[str], str | None]) -> None:
    @given(WORDS)
    def holds(text: str) -> None:
        assert fault_of(text) is not None or re.fullmatch(CRD[fault_of], text)

    holds()


@pytest.mark.parametrize(
    "text",
    ["0 8 * * mon-fri", "*/15 8-18 1,15 jan,JUL 0-6", "0 0 1 * *", "30 22/2 * 12 SUN"],
)
def test_a_cron_schedule_is_taken(text: str) -> None:
    assert check_schedule(text) is None


@pytest.mark.parametrize(
    "text",
    ["", "0 8 * *", "0 8 * * * *", "60 8 * * *", "0 24 * * *", "0 8 0 * *", "0 0 31 2 *", "0 8 32 * *", "0 8 * 13 *",
     "0 8 * * 7",
     "0 8 * * fri-mon", "0 8 * * someday", "*/0 8 * * *", "a b c d e", "0  8 * * *", "@never", "-1 8 * * *",
     "5- * * * *"],
)  # fmt: skip
def test_what_cron_would_not_take_is_rejected(text: str) -> None:
    assert check_schedule(text) is not None


@pytest.mark.parametrize(("text", "good"), [("10h", True), ("8h30m", True), ("90m", True), ("0h", False),
                                            ("8h30", False),
                                            ("30s", False), ("10h0s", True), ("ten hours", False)])  # fmt: skip
def test_quiet_hours_last_hours_and_minutes(text: str, good: bool) -> None:  # noqa: FBT001
    assert (check_quiet_duration(text) is None) is good


@pytest.mark.parametrize(("text", "good"), [("512Gi", True), ("1.5Ti", True), ("1000000", True), ("512GB", False),
                                            ("0", False), ("-1Gi", False), ("Gi", False), ("100m", False)])  # fmt: skip
def test_memory_is_a_quantity_of_bytes(text: str, good: bool) -> None:  # noqa: FBT001
    assert (check_memory(text) is None) is good


@pytest.mark.parametrize(("text", "good"), [("720h", True), ("Never", True), ("60m", True), ("59m60s", True),
                                            ("0s", False), ("59m59s", False), ("30d", False), ("", False)])  # fmt: skip
def test_a_node_lives_for_an_hour_at_least(text: str, good: bool) -> None:  # noqa: FBT001
    assert (check_lifetime(text) is None) is good
