"""The notations of a NodePool: nothing passes that the API server's pattern or cron's parser rejects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.autoscaling.quiet_hours import check_schedule
from multiarch.autoscaling.syntax import (
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
    check_memory: r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
    r"([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    check_schedule: r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$",
}
WORDS = st.one_of(
    st.from_regex(r"[0-9]{0,3}(h|m|s|%|Gi|M|k)?([0-9]{1,2}(m|s))?", fullmatch=True),
    st.sampled_from(["Never", "", "10%", "100%", "101%", "-1", "1e3", "@daily", "0 8 * * mon-fri", "512Gi", "1.5Gi"]),
    st.text(alphabet="0123456789hms%*-/ .,@GiMkNever", max_size=12),
)


@given(WORDS)
def test_what_passes_here_matches_the_crds_pattern(text: str) -> None:
    for find_fault, pattern in CRD.items():
        assert find_fault(text) is not None or re.fullmatch(pattern, text), pattern


CRON = ("0 8 * * mon-fri", "*/15 8-18 1,15 jan,JUL 0-6", "30 22/2 * 12 SUN")
NO_CRON = ("", "0 8 * *", "0 8 * * * *", "60 8 * * *", "0 0 31 2 *", "0 8 * 13 *", "0 8 * * 7", "0 8 * * fri-mon",
           "*/0 8 * * *", "0  8 * * *", "@never", "-1 8 * * *", "5- * * * *")  # fmt: skip


@pytest.mark.parametrize(
    ("find_fault", "taken", "rejected"),
    [
        (check_schedule, CRON, NO_CRON),
        (check_quiet_duration, ("10h", "8h30m", "10h0s"), ("0h", "8h30", "30s", "ten hours")),
        (check_memory, ("512Gi", "1.5Ti", "1000000"), ("512GB", "0", "-1Gi", "Gi", "100m")),
        (check_lifetime, ("720h", "Never", "59m60s"), ("0s", "59m59s", "30d", "")),
    ],
)
def test_a_notation_is_taken_or_rejected(
    find_fault: Callable[[str], str | None], taken: Sequence[str], rejected: Sequence[str]
) -> None:
    assert [each for each in taken if find_fault(each) is not None] == []
    assert [each for each in rejected if find_fault(each) is None] == []
